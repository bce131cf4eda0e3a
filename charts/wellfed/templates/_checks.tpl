{{/* What a schema cannot say. Each message names the value, what is wrong with it, and the fix. */}}
{{- define "wellfed.checks" -}}
{{- $names := list -}}
{{- range $i, $endpoint := .Values.prometheus -}}
{{- if has $endpoint.name $names -}}
{{- fail (printf "prometheus[%d].name: %q is there twice; give each endpoint a name of its own" $i $endpoint.name) -}}
{{- end -}}
{{- $names = append $names $endpoint.name -}}
{{- end -}}
{{- if not (has .Values.evidence.endpoint $names) -}}
{{- fail (printf "evidence.endpoint: no endpoint is called %q; name one of prometheus[].name: %s" .Values.evidence.endpoint (join ", " $names)) -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled -}}
{{- fail "serviceMonitor.enabled and podMonitor.enabled: both would scrape every pod twice; enable one" -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.name: needed when serviceAccount.create is false; name a ServiceAccount that exists" -}}
{{- end -}}
{{- $own := list "interval" "signal-interval" "signal-timeout" "stale-after" "evidence-interval" "evidence-timeout" "watch-namespace" "config" "lease-namespace" "lease-name" "lease-duration" "identity" "kill-switch" "listen" -}}
{{- range $i, $arg := .Values.extraArgs -}}
{{- $flag := regexReplaceAll "^--([^=]*).*$" $arg "${1}" -}}
{{- if has $flag $own -}}
{{- fail (printf "extraArgs[%d]: --%s is set by the chart; use its own value instead" $i $flag) -}}
{{- end -}}
{{- end -}}
{{- end -}}
