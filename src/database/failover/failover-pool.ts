// A pool of connections. If its URL names several hosts, it connects to the primary, also after a
// failover.
import {
  Client,
  type ClientBase,
  type ClientConfig,
  Pool,
  type PoolClient,
  type PoolConfig,
} from 'pg'
import type { PostgresAddress } from '../postgres-address.ts'
import { applySettings, type ConnectionSettings } from '../transaction-pooling.ts'
import { BrokenConnectionError, isBrokenConnection, NotPrimaryError } from './broken-connections.ts'
import { PrimaryHost } from './primary-host.ts'
import { closeWhenSilent, streamOf } from './silent-connections.ts'

type FailoverPoolOptions = {
  address: PostgresAddress
  settings: ConnectionSettings
  responseTimeoutMs: number
  connectionTimeoutMs: number
  /** Whether Kysely retries a read whose connection breaks. */
  retriesReads: boolean
}

type Callback = Parameters<Pool['connect']>[0]

const destroyedMessage = 'The process is stopping.'

export class FailoverPool extends Pool {
  readonly retriesReads: boolean
  readonly #primary: PrimaryHost
  readonly #hasSeveralHosts: boolean
  /** Increases when a connection breaks. Connections that were opened earlier may be dead too. */
  #generation = 0
  readonly #generations = new WeakMap<ClientBase, number>()
  /** All connections, including those that are being opened. */
  readonly #clients: Set<ClientBase>
  #isDestroyed = false

  constructor(options: FailoverPoolOptions, config: PoolConfig) {
    const { address } = options
    const primary = new PrimaryHost(address.urls)
    const clientUrls = new WeakMap<ClientBase, string>()
    const clients = new Set<ClientBase>()
    class RoutedClient extends Client {
      constructor(clientConfig: ClientConfig) {
        super({ ...clientConfig, connectionString: primary.url })
        clientUrls.set(this, primary.url)
        clients.add(this)
        this.once('end', () => clients.delete(this))
      }
    }
    super({
      ...config,
      Client: RoutedClient as unknown as NonNullable<PoolConfig['Client']>,
      connectionTimeoutMillis: options.connectionTimeoutMs,
      keepAlive: true,
      onConnect: (client) => this.#prepare(client, clientUrls.get(client) ?? primary.url, options),
    })
    this.#primary = primary
    this.#clients = clients
    this.#hasSeveralHosts = address.urls.length > 1
    this.retriesReads = options.retriesReads
    // Without a listener an error of an idle connection ends the process. It needs no log: the pool
    // opens another connection, and a query that finds PostgreSQL unreachable throws.
    this.on('error', () => undefined)
  }

  /** Returns a connection to the primary. With several hosts, waits while one is promoted. */
  override connect(): Promise<PoolClient>
  override connect(callback: NonNullable<Callback>): undefined
  override connect(callback?: Callback): Promise<PoolClient> | undefined {
    const client = this.#connectToPrimary()
    if (!callback) return client
    client.then(
      (connected) => callback(undefined, connected, (error) => connected.release(error)),
      (error) => callback(error, undefined, () => undefined),
    )
    return undefined
  }

  /** Replaces every connection that is open now before its next use. */
  replaceConnections(): void {
    this.#generation += 1
  }

  /**
   * Destroys every connection at once and opens no other: a statement whose server does not respond
   * must not delay a process that stops.
   */
  destroyConnections(): void {
    this.#isDestroyed = true
    for (const client of this.#clients)
      streamOf(client).destroy(new BrokenConnectionError(destroyedMessage))
  }

  async #connectToPrimary(): Promise<PoolClient> {
    if (this.#isDestroyed) throw new BrokenConnectionError(destroyedMessage)
    if (!this.#primary.isKnown && this.#hasSeveralHosts) await this.#primary.find()
    try {
      return await this.#connectOnce()
    } catch (error) {
      if (!this.#hasSeveralHosts || !isBrokenConnection(error)) throw error
      this.#primary.markUnknown()
      if (!(await this.#primary.find())) throw error
      return this.#connectOnce()
    }
  }

  async #connectOnce(): Promise<PoolClient> {
    for (;;) {
      const client = await super.connect()
      if (this.#generations.get(client) === this.#generation) return client
      client.release(true)
    }
  }

  async #prepare(
    client: ClientBase,
    url: string,
    { address, settings, responseTimeoutMs, connectionTimeoutMs }: FailoverPoolOptions,
  ): Promise<void> {
    this.#generations.set(client, this.#generation)
    // No log is needed: the next statement of a transaction on a broken connection throws.
    client.on('error', () => this.replaceConnections())
    const deadline = setTimeout(
      () =>
        streamOf(client).destroy(new BrokenConnectionError('The new connection got no response.')),
      connectionTimeoutMs,
    )
    try {
      const { isInRecovery } = await applySettings(client, settings)
      if (address.needsPrimary && isInRecovery) throw new NotPrimaryError()
    } finally {
      clearTimeout(deadline)
    }
    const onLost = (loss: 'unreachable' | 'ended') => {
      this.replaceConnections()
      if (loss === 'unreachable') this.#primary.markUnknown()
    }
    closeWhenSilent(client, { url, responseTimeoutMs, onLost })
  }
}
