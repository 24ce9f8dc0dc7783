// Sends requests at a fixed rate by the clock, whether or not earlier ones have been answered, and
// measures each from the moment when it was due. So a service that stalls cannot hide its stall by
// slowing the client down (coordinated omission).
import { Agent, request } from 'node:http'

export type LoadRequest = {
  /** What the results are grouped by. */
  kind: string
  path: string
  headers?: Record<string, string>
  /** JSON that is sent with POST. Without it the request is a GET. */
  body?: string
}

export type LoadResult = Pick<LoadRequest, 'kind' | 'path'> & {
  /** When the request was due, by performance.now(). */
  dueAt: number
  /** From then to the last byte of the answer. */
  ms: number
  /** 0 if there was no complete answer. */
  status: number
  /** Why there was none, or the beginning of an answer that is not 200. */
  problem?: string
}

export type LoadOptions = {
  url: string
  perSecond: number
  /** Returns the request of this number. */
  next(number: number): LoadRequest
  onResult(result: LoadResult): void
  /** The local addresses that requests come from in turn, for limits that count addresses. */
  sources?: string[]
}

const answerTimeoutMs = 30_000
const shownProblemLength = 200

/** Starts the load. `stop` sends nothing more and resolves when every request has ended. */
export function startFixedRateLoad(options: LoadOptions): { stop(): Promise<void> } {
  const { perSecond, next, onResult, sources = [undefined] } = options
  const url = new URL(options.url)
  const callers = sources.map((localAddress) => ({
    agent: new Agent({ keepAlive: true, localAddress }),
    localAddress,
  }))
  const startedAt = performance.now()
  const pending = new Set<Promise<void>>()
  let count = 0
  let timer: NodeJS.Timeout | undefined

  const dueAt = (number: number) => startedAt + (number * 1_000) / perSecond
  const sendDue = () => {
    for (; dueAt(count) <= performance.now(); count++) {
      const caller = callers[count % callers.length]
      if (caller === undefined) throw new Error('There is no source to send from.')
      const sending = send(url, caller, next(count), dueAt(count)).then(onResult)
      pending.add(sending)
      void sending.finally(() => pending.delete(sending))
    }
    timer = setTimeout(sendDue, Math.max(0, dueAt(count) - performance.now()))
  }
  sendDue()
  return {
    async stop() {
      clearTimeout(timer)
      await Promise.all(pending)
      for (const { agent } of callers) agent.destroy()
    },
  }
}

/** A connection of an agent, or one of its own. */
type Connection = { agent: Agent | false; localAddress?: string | undefined }

/**
 * Sends one request. Never rejects. A GET whose connection was used before and ends without an
 * answer is sent again on a connection of its own, as browsers do: it has met the end of a
 * connection that rested.
 */
async function send(
  url: URL,
  { agent, localAddress }: { agent: Agent; localAddress: string | undefined },
  load: LoadRequest,
  dueAt: number,
): Promise<LoadResult> {
  const { kind, path } = load
  const first = await sendOnce(url, { agent }, load)
  const isRepeated = first.metEndOfConnection && load.body === undefined
  const { status, problem } = isRepeated
    ? await sendOnce(url, { agent: false, localAddress }, load)
    : first
  const ms = performance.now() - dueAt
  return { kind, path, dueAt, ms, status, ...(problem !== undefined && { problem }) }
}

type Ending = { status: number; problem?: string; metEndOfConnection?: boolean }

function sendOnce(url: URL, connection: Connection, load: LoadRequest): Promise<Ending> {
  const { hostname, port } = url
  const { path, headers = {}, body } = load
  const sentHeaders = body === undefined ? headers : { ...headers, ...describeBody(body) }
  const method = body === undefined ? 'GET' : 'POST'
  const options = { hostname, port, path, method, headers: sentHeaders, ...connection }
  return new Promise((resolve) => {
    const sent = request(options, (response) => {
      const status = response.statusCode ?? 0
      let start = ''
      response.on('data', (chunk: Buffer) => {
        if (status !== 200 && start.length < shownProblemLength) start += chunk
      })
      response.on('end', () =>
        resolve(
          status === 200 ? { status } : { status, problem: start.slice(0, shownProblemLength) },
        ),
      )
      response.on('error', (error) => resolve({ status: 0, problem: error.message }))
    })
    sent.setTimeout(answerTimeoutMs, () => sent.destroy(new Error('no answer in time')))
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE'
      const metEndOfConnection = sent.reusedSocket && isClosed
      resolve({ status: 0, problem: error.message, metEndOfConnection })
    })
    sent.end(body)
  })
}

const describeBody = (body: string) => ({
  'content-type': 'application/json',
  'content-length': String(Buffer.byteLength(body)),
})
