// An HTTP relay in front of the service. A test can make it fail in ways that browsers see.
import { readFileSync } from 'node:fs'
import {
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http'
import { startLocalServer } from './local-server.ts'

const recorder = readFileSync(new URL('../browsers/error-recorder.js', import.meta.url))
const recorderPath = '/error-recorder.js'

type ErrorResponse = { status: number; headers?: Record<string, string>; body?: string }
/** `refuse` closes connections, `hold` answers when the fault ends. */
export type Fault = ErrorResponse | 'refuse' | 'hold'

export type HttpRelay = {
  url: string
  /** Fails the requests whose URL contains the text. */
  fail(fault: Fault, text?: string): void
  /** Ends the fault. Held requests are forwarded. */
  recover(): void
  /** The URLs that arrived, in order. */
  arrived: string[]
}

/**
 * Starts a relay to the service at `serviceUrl` on a free port. HTML pages get the script
 * error-recorder.js as their first script. It stops when the test ends.
 */
export async function startHttpRelay(
  t: { teardown(fn: () => unknown): void },
  serviceUrl: string,
): Promise<HttpRelay> {
  let fault: Fault | null = null
  let faultyText = ''
  const held: (() => void)[] = []
  const arrived: string[] = []
  const relayUrl = await startLocalServer(t, (request, response) => {
    const url = request.url ?? ''
    arrived.push(url)
    if (url === recorderPath)
      return void response.setHeader('content-type', 'text/javascript').end(recorder)
    const answer = () => forward(serviceUrl, request, response)
    if (fault === null || !url.includes(faultyText)) answer()
    else if (fault === 'hold') held.push(answer)
    else if (fault === 'refuse') request.socket.destroy()
    else respond(response, fault)
  })
  return {
    url: relayUrl,
    arrived,
    fail(next, text = '') {
      fault = next
      faultyText = text
    },
    recover() {
      fault = null
      for (const answer of held.splice(0)) answer()
    },
  }
}

function respond(response: ServerResponse, { status, headers, body = '' }: ErrorResponse): void {
  const readable = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'retry-after',
  }
  response.writeHead(status, { ...readable, ...headers }).end(body)
}

function forward(serviceUrl: string, request: IncomingMessage, response: ServerResponse): void {
  const headers = { ...request.headers, 'accept-encoding': 'identity' }
  const { method = 'GET', url } = request
  const forwarded = httpRequest(new URL(url ?? '', serviceUrl), { method, headers }, (answer) => {
    if (answer.headers['content-type']?.startsWith('text/html')) addRecorder(answer, response)
    else answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers))
  })
  // The service may end first when the test ends.
  forwarded.on('error', () => response.destroy())
  request.pipe(forwarded)
}

/** Adds the script to the page, and to its policy if that forbids all scripts. */
async function addRecorder(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  const html = Buffer.concat(await answer.toArray()).toString()
  const { 'content-length': _, ...headers } = answer.headers
  const policy = String(headers['content-security-policy'])
  const own = policy.includes('script-src')
    ? policy.replace("script-src 'sha256", "script-src 'self' 'sha256")
    : `${policy}; script-src 'self'`
  response
    .writeHead(answer.statusCode ?? 500, {
      ...(headers as OutgoingHttpHeaders),
      'content-security-policy': own,
    })
    .end(html.replace('<head>', `<head><script src="${recorderPath}"></script>`))
}
