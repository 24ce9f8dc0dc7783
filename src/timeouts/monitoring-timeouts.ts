// The waiting times of health checks and logs.
import type { WaitingTime } from './waiting-time.ts'

export const monitoringTimeouts = {
  healthCheck: {
    ms: 1_000,
    what: 'A health check of a server',
    why: 'Prometheus and load balancers give up after a few seconds.',
    afterwards: 'The server counts as down.',
  },
  lineLimit: {
    ms: 1_000,
    what: 'The period in which at most a hundred log lines say which requests were refused',
    why: 'Lines of a flood would cost more than the refusals.',
    afterwards: 'The next hundred refusals have a line.',
  },
  logFlush: {
    ms: 100,
    what: 'A log line in the buffer',
    why: 'Writing each line separately costs more than a cached answer.',
    afterwards: 'The buffer is written. A killed process loses it.',
  },
  spanBatch: {
    ms: 5_000,
    what: 'The time between two batches of spans that are sent to the collector',
    why: 'One request to the collector for many spans. It is the default of the SDK.',
    afterwards: 'The spans that wait are sent. A killed process loses them.',
  },
} satisfies Record<string, WaitingTime>
