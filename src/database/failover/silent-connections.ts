// Closes connections whose server has disappeared without a reset. A long statement is silent too,
// so another connection asks the server whether it is still working on the statement.
import type { Socket } from 'node:net'
import pTimeout from 'p-timeout'
import { Client, type ClientBase, DatabaseError } from 'pg'
import { isPooled } from '../transaction-pooling.ts'
import { BrokenConnectionError } from './broken-connections.ts'

// Nearly all statements take less, and asking costs a connection.
export const silenceMs = 3_000
// With the silence before, a server that has disappeared costs 7 s.
const silenceProbeMs = 4_000

type DriverClient = ClientBase & {
  connection: { stream: Socket }
  readyForQuery: boolean
  processID: number
}

export const streamOf = (client: ClientBase): Socket => (client as DriverClient).connection.stream

type Options = {
  /** The URL that the connection was opened with. */
  url: string
  /** The connection is closed after this time without data in any case. 0: no limit. */
  responseTimeoutMs: number
  /**
   * Called after the connection was closed because its statement has ended or the server is
   * unreachable, and not after `responseTimeoutMs`. Others of the same age may be dead too.
   */
  onLost: (loss: 'unreachable' | 'ended') => void
}

/**
 * Closes the connection if the server sends nothing while a statement runs, and does not say on
 * another connection that the statement is running. The timeout of the driver (query_timeout) would
 * only fail the query, and the pool would reuse the dead connection.
 */
export function closeWhenSilent(
  client: ClientBase,
  { url, responseTimeoutMs, onLost }: Options,
): void {
  const stream = streamOf(client)
  const driver = client as DriverClient
  const checkMs = responseTimeoutMs > 0 ? Math.min(silenceMs, responseTimeoutMs) : silenceMs
  let silentSince = 0
  let bytesRead = -1
  let isAsking = false

  const check = async () => {
    stream.setTimeout(checkMs)
    if (driver.readyForQuery || isAsking) return
    if (stream.bytesRead !== bytesRead) {
      bytesRead = stream.bytesRead
      silentSince = performance.now() - checkMs
    }
    const close = (reason: string) =>
      stream.destroy(new BrokenConnectionError(`PostgreSQL sent nothing${reason}`))
    if (responseTimeoutMs > 0 && performance.now() - silentSince >= responseTimeoutMs)
      return void close(` for ${responseTimeoutMs} ms`)
    isAsking = true
    const state = await askAboutStatement(url, isPooled(client) ? null : driver.processID)
    isAsking = false
    if (driver.readyForQuery || stream.bytesRead !== bytesRead || state === 'running') return
    close(state === 'ended' ? ', and the response was lost' : ', and does not respond')
    onLost(state)
  }
  stream.setTimeout(checkMs)
  stream.on('timeout', check)
}

type StatementState = 'running' | 'ended' | 'unreachable'

/**
 * Behind a pooler `processId` is null. Then a server that responds counts as working on the
 * statement.
 */
async function askAboutStatement(url: string, processId: number | null): Promise<StatementState> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: silenceProbeMs,
    application_name: 'trade-quoting-service',
  })
  // If the connection breaks, `ask` fails, which counts as unreachable.
  client.on('error', () => undefined)
  const ask = async (): Promise<StatementState> => {
    await client.connect()
    const { rows } = await client.query<{ isRunning: boolean }>(
      `select $1::integer is null or exists (
         select from pg_stat_activity where pid = $1 and state = 'active'
       ) as "isRunning"`,
      [processId],
    )
    return rows[0]?.isRunning ? 'running' : 'ended'
  }
  try {
    return await pTimeout(ask(), { milliseconds: silenceProbeMs })
  } catch (error) {
    // A server that refuses the connection does respond.
    return error instanceof DatabaseError ? 'running' : 'unreachable'
  } finally {
    // The answer is known, so it does not matter if the connection is already broken.
    void client.end().catch(() => undefined)
  }
}
