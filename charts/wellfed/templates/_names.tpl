{{- define "wellfed.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough for a suffix such as "-metrics". */}}
{{- define "wellfed.fullname" -}}
{{- $name := include "wellfed.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Objects outside the release's namespace carry its name, so that two releases never share one. */}}
{{- define "wellfed.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "wellfed.fullname" .) -}}
{{- end -}}

{{- define "wellfed.serviceAccountName" -}}
{{- default (include "wellfed.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "wellfed.leaseName" -}}
{{- default (include "wellfed.fullname" .) .Values.lease.name -}}
{{- end -}}

{{- define "wellfed.killSwitchName" -}}
{{- default (printf "%s-stop" (include "wellfed.fullname" .)) .Values.killSwitch.configMap -}}
{{- end -}}

{{- define "wellfed.image" -}}
{{- $tagged := printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $tagged .Values.image.digest -}}
{{- else -}}
{{- $tagged -}}
{{- end -}}
{{- end -}}

{{- define "wellfed.selectorLabels" -}}
app.kubernetes.io/name: {{ include "wellfed.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "wellfed.labels" -}}
{{ include "wellfed.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: wellfed
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The ServiceAccount as the subject of a binding. */}}
{{- define "wellfed.subjects" -}}
- kind: ServiceAccount
  name: {{ include "wellfed.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}
