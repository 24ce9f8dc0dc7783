// The databases of the statistics benchmark. Each measurement that changes quotes gets its own copy
// of the generated database, so all measurements start in the same state.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { type Database, openDatabase, openPool } from '../../../src/database/postgres-pool.ts'
import { createPreparingKysely } from '../../../src/database/prepared-statements.ts'

export type BenchDatabase = {
  name: string
  url: string
  /**
   * One connection for what is measured. It prepares statements, as the API does, and uses no
   * parallel workers, so the processor time of its backend is all of the work. PostgreSQL cancels a
   * statement after the limit.
   */
  measured: Database
  /** One connection without a limit, for everything else. */
  unlimited: Database
  close(): Promise<void>
}

export class BenchDatabases {
  readonly #serverUrl: string
  readonly #limitMs: number
  readonly #admin: Database
  readonly #databases = new Set<BenchDatabase>()

  constructor(serverUrl: string, limitMs: number) {
    this.#serverUrl = serverUrl
    this.#limitMs = limitMs
    this.#admin = openDatabase(serverUrl, { connections: 1 })
  }

  /** Creates an empty database, or a copy of `template`, whose connections are closed. */
  async create(template?: BenchDatabase): Promise<BenchDatabase> {
    const name = `stats_bench_${randomBytes(4).toString('hex')}`
    const database = this.#open(name)
    this.#databases.add(database)
    if (template) await template.close()
    const templateName = sql.id(template?.name ?? 'template1')
    await sql`
      create database ${sql.id(name)} template ${templateName} strategy file_copy
    `.execute(this.#admin)
    return database
  }

  /** Closes a database and deletes it. */
  async drop(database: BenchDatabase): Promise<void> {
    await sql`drop database if exists ${sql.id(database.name)} with (force)`.execute(this.#admin)
    await database.close()
    this.#databases.delete(database)
  }

  /** Deletes all databases, which ends the statements that run in them. */
  async dropAll(): Promise<void> {
    for (const database of this.#databases) await this.drop(database)
    await this.#admin.destroy()
  }

  #open(name: string): BenchDatabase {
    const url = new URL(this.#serverUrl)
    url.pathname = `/${name}`
    const measuredUrl = new URL(url)
    measuredUrl.searchParams.set('options', '-c max_parallel_workers_per_gather=0')
    const open = () => ({
      measured: createPreparingKysely(
        openPool(measuredUrl.href, {
          connections: 1,
          settings: { statement_timeout: String(this.#limitMs) },
        }),
      ),
      unlimited: openDatabase(url.href, { connections: 1 }),
    })
    let closing: Promise<void> | undefined
    const database: BenchDatabase = {
      name,
      url: url.href,
      ...open(),
      close() {
        closing ??= Promise.all([database.measured.destroy(), database.unlimited.destroy()]).then(
          () => undefined,
        )
        return closing
      },
    }
    return database
  }
}
