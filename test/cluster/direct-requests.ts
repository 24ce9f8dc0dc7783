// Sends requests to one API process, past HAProxy.
import { randomBytes } from 'node:crypto'

const timeoutMs = 20_000
/** A request on a connection that rests would fail if it met the end of that connection. */
const onOwnConnection = { connection: 'close' }

/** The headers of a caller whose address nobody has used. The API trusts what HAProxy says. */
export function newCaller(): Record<string, string> {
  const [a, b, c] = randomBytes(3)
  return { 'x-forwarded-for': `10.${a}.${b}.${c}` }
}

export async function readStatus(url: string, headers = newCaller()): Promise<number> {
  const response = await fetch(url, {
    headers: { ...headers, ...onOwnConnection },
    signal: AbortSignal.timeout(timeoutMs),
  })
  await response.arrayBuffer()
  return response.status
}

/** Throws if the answer is not 200. */
export async function readJson<Body>(url: string): Promise<Body> {
  const response = await fetch(url, {
    headers: { ...newCaller(), ...onOwnConnection },
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text.slice(0, 200)}`)
  return JSON.parse(text) as Body
}
