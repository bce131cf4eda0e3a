{{/* Everything that the operator may do, by scope. It reads no Secret, and there is no wildcard. */}}

{{/* Read everywhere, also where only some namespaces are watched: cluster-scoped kinds, and pods, because a pod of any
namespace may hold the GPUs of a pool. */}}
{{- define "wellfed.rules.cluster" -}}
- apiGroups: [wellfed.dev]
  resources: [gpupools]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [nodes, namespaces, pods]
  verbs: [list, watch]
{{- end -}}

{{/* Reading, in the namespaces of the workloads. */}}
{{- define "wellfed.rules.read" -}}
- apiGroups: [wellfed.dev]
  resources: [gpuworkloads]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [list, watch]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [list, watch]
{{- end -}}

{{/* Writing, in the namespaces of the workloads: replicas of the listed kinds, own status, events. */}}
{{- define "wellfed.rules.write" -}}
- apiGroups: [wellfed.dev]
  resources: [gpuworkloads/status]
  verbs: [patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- range .Values.targets }}
- apiGroups: [{{ .apiGroup }}]
  resources: [{{ .resource }}/scale]
  verbs: [patch]
{{- end }}
{{- end -}}

{{/* The release's own namespace. RBAC cannot limit a create to a name. */}}
{{- define "wellfed.rules.own" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "wellfed.leaseName" . | quote }}]
  verbs: [get, update]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ include "wellfed.killSwitchName" . | quote }}]
  verbs: [list, watch]
{{- end -}}
