// The waiting times of HTTP connections and requests.
import type { WaitingTime } from './waiting-time.ts'

export const httpTimeouts = {
  requestHead: {
    ms: 10_000,
    what: 'The head of a request',
    why: 'A client on a slow line needs seconds. Only slowloris attacks need longer.',
    afterwards: '408, and the connection is closed.',
  },
  wholeRequest: {
    ms: 10_000,
    what: 'A request with its body',
    why: 'No path reads a body, so the limit of the head is enough.',
    afterwards: '408, and the connection is closed.',
  },
  slowRequestCheck: {
    ms: 1_000,
    what: 'Between two checks for requests that arrive too slowly',
    why: 'The default of Node, 30 s, would be added to the two limits above.',
    afterwards: 'The next check runs.',
  },
  silentConnection: {
    ms: 30_000,
    what: 'A connection without traffic while a request is under way',
    why: 'No response may take that long.',
    afterwards: 'The connection is closed.',
  },
  keepAlive: {
    ms: 65_000,
    what: 'An idle connection between two requests (KEEP_ALIVE_SECONDS)',
    why: 'Longer than load balancers keep theirs (60 s), so the balancer closes first.',
    afterwards: 'The connection is closed.',
  },
} satisfies Record<string, WaitingTime>
