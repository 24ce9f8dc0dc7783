{{/* Parts that several manifests share. */}}

{{- define "tqs.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "tqs.selector" -}}
app.kubernetes.io/name: trade-quoting-service
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tqs.labels" -}}
{{ include "tqs.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "tqs.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What the policy "restricted" of Kubernetes demands. The programs need no token. */}}
{{- define "tqs.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "tqs.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Only the named entries of the Secret. Call with (list . "NAME" …). */}}
{{- define "tqs.secrets" -}}
{{- $secret := (first .).Values.existingSecret -}}
{{- range rest . }}
- name: {{ . }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ . }}
      {{- if eq . "REDIS_URL" }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}

{{- define "tqs.settings" -}}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  {{- /* Helm reads whole numbers as 1e+06. */}}
  value: {{ kindIs "float64" $value | ternary (int64 $value) $value | toString | quote }}
{{- end }}
- name: MEILI_URL
  value: {{ .Values.meiliUrl | quote }}
{{- end }}

{{- define "tqs.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 256Mi }
- name: company
  configMap:
    name: {{ .Values.companyConfigMap }}
    items: [{ key: company.json, path: company.json }]
{{- end }}

{{- define "tqs.mounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: company, mountPath: /etc/quotes, readOnly: true }
{{- end }}

{{/* Pods of one kind on different nodes and in different zones, as far as that is possible. */}}
{{- define "tqs.spread" -}}
{{- $component := last . -}}
{{- $root := first . -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "tqs.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component }}
{{- end }}
{{- end }}

{{/* What a program may reach: DNS and the three servers. */}}
{{- define "tqs.egress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
- ports:
    {{- range .Values.networkPolicy.ports }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- with .Values.networkPolicy.egressTo }}
  to: {{ toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
