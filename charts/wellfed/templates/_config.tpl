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
  {{- with .Values.evidence.nodeMatchers }}
  nodeMatchers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.evidence.nodeLabel }}
  nodeLabel: {{ . | quote }}
  {{- end }}
  {{- with .Values.evidence.scrapeInterval }}
  scrapeInterval: {{ . | quote }}
  {{- end }}
  {{- with .Values.evidence.units }}
  units:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.evidence.boards }}
  boards:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.evidence.server }}
  server:
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

{{/* A duration of one unit, as a number. */}}
{{- define "wellfed.milliseconds" -}}
{{- $unit := get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) (regexFind "[a-z]+$" .) -}}
{{- mul (regexFind "^[0-9]+" . | int64) $unit -}}
{{- end -}}

{{/* What one look's numbers are taken over: the time between looks, or two scrapes where that is longer. */}}
{{- define "wellfed.evidenceRange" -}}
{{- $looks := .Values.timing.evidenceInterval -}}
{{- $scrapes := .Values.evidence.scrapeInterval | default "0s" -}}
{{- $twice := mul 2 (include "wellfed.milliseconds" $scrapes | int64) -}}
{{- if gt $twice (include "wellfed.milliseconds" $looks | int64) }}{{ $twice }}ms{{ else }}{{ $looks }}{{ end -}}
{{- end -}}
