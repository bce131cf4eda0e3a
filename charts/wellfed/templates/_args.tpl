{{/* The command line of the operator. */}}
{{- define "wellfed.args" -}}
- run
- --config=/etc/wellfed/config.yaml
- "--listen={{ .Values.http.address }}:{{ .Values.http.port }}"
- --interval={{ .Values.timing.interval }}
- --signal-interval={{ .Values.timing.signalInterval }}
- --signal-timeout={{ .Values.timing.signalTimeout }}
- --stale-after={{ .Values.timing.staleAfter }}
- --evidence-interval={{ .Values.timing.evidenceInterval }}
- --evidence-timeout={{ .Values.timing.evidenceTimeout }}
- --identity=$(POD_NAME)
- --lease-namespace={{ .Release.Namespace }}
- --lease-name={{ include "wellfed.leaseName" . }}
- --lease-duration={{ .Values.lease.duration }}
- --kill-switch={{ include "wellfed.killSwitchName" . }}
{{- range .Values.watchNamespaces }}
- --watch-namespace={{ . }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
