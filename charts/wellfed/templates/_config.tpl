{{/* The operator's configuration file. */}}
{{- define "wellfed.config" -}}
prometheus:
{{- range .Values.prometheus }}
- name: {{ .name | quote }}
  url: {{ .url | quote }}
  {{- with .extraMatchers }}
  extraMatchers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  allowClusterQueries: {{ default false .allowClusterQueries }}
  namespaceLabel: {{ default "namespace" .namespaceLabel | quote }}
{{- end }}
evidence:
  endpoint: {{ .Values.evidence.endpoint | quote }}
  recorded: {{ default false .Values.evidence.recorded }}
  {{- with .Values.evidence.gpuMatchers }}
  gpuMatchers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.evidence.trainer }}
  trainer:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with .Values.gate.thresholds }}
gate:
  thresholds:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}
