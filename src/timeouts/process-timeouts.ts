// The waiting times of a whole process: start, idle times and stop.
import type { WaitingTime } from './waiting-time.ts'

export const processTimeouts = {
  stopDelay: {
    ms: 0,
    what: 'A stopping process that is not ready but still serves (STOP_DELAY_SECONDS)',
    why: 'A proxy tries another process at once. Kubernetes needs seconds to stop sending.',
    afterwards: 'It accepts no new connections.',
  },
  idleAfter: {
    ms: 10_000,
    what: 'Time without searches or requests for statistics, until a process polls less often',
    why: 'Nobody needs the result. Only processes without Redis poll PostgreSQL so often.',
    afterwards: 'The process polls PostgreSQL once a second.',
  },
  idlePoll: {
    ms: 1_000,
    what: 'Between two polls of an idle process for changes of statistics or the index',
    why: 'Cached statistics are sent up to the age of two seconds, also to the first caller.',
    afterwards: 'The process polls again. The first request makes it poll more often.',
  },
  lastTraces: {
    ms: 1_000,
    what: 'The last traces of a process that stops, on their way to the collector',
    why: 'A collector that is away must not delay a stop.',
    afterwards: 'They are lost.',
  },
  drain: {
    ms: 5_000,
    what: 'Requests under way when the process stops',
    why: 'Nearly all responses take less, and orchestrators kill a process later.',
    afterwards: 'Their connections are closed.',
  },
  lastStatements: {
    ms: 6_000,
    what: 'The last statements of a process that stops: they record the use of keys',
    why: 'A second after the requests have drained. A silent PostgreSQL must not delay the stop.',
    afterwards: 'The connections to PostgreSQL are closed, and what was not recorded is lost.',
  },
  stop: {
    ms: 7_000,
    what: 'The whole shutdown',
    why: 'Two seconds to close connections to servers after the requests have drained.',
    afterwards: 'The process exits with status 1.',
  },
} satisfies Record<string, WaitingTime>
