// Measures what idle API processes cost PostgreSQL: processor time, transactions and connections.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { runCommand } from '../cli/command.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/data/catalogues.ts'
import { type ApiProcess, startApi } from './support/processes/api-process.ts'
import { readPostgresSeconds, readPostmasterPid } from './support/processes/postgres-processes.ts'

const help = `
Usage: node scripts/bench/idle-processes.ts [--processes N] [--seconds N] [--without-redis]

Starts API processes on one database, lets them idle, and prints for all of them together how much
processor time PostgreSQL needs, how many transactions it runs, and how many connections are open.

  --processes N    API processes. Default: 20
  --seconds N      duration of the measurement. Default: 30
  --without-redis  each process polls PostgreSQL on its own
`

const options = {
  processes: { type: 'string', default: '20' },
  seconds: { type: 'string', default: '30' },
  'without-redis': { type: 'boolean', default: false },
} as const

const settleMs = 15_000

await runCommand(help, options, async (values) => {
  const servers = await benchServers()
  const apis: ApiProcess[] = []
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const service = await benchService(servers, 'idle', await crossedCatalogue(1_000))
    // Its own app would poll too.
    await service.close()
    const db = openDatabase(service.databaseUrl, { connections: 1 })
    const env = values['without-redis'] ? { REDIS_URL: '' } : {}
    for (let number = 0; number < Number(values.processes); number += 1)
      apis.push(await startApi(service, { ...env, SHED_DELAY_MS: '0' }))
    console.log(`${apis.length} processes are running.`)
    await sleep(settleMs)
    await measure(db, Number(values.seconds))
    await db.destroy()
  } finally {
    for (const api of apis) await api.stop()
    await servers.stop()
  }
  return 0
})

async function measure(db: Database, seconds: number): Promise<void> {
  const postmaster = await readPostmasterPid(db)
  const before = { cpu: readPostgresSeconds(postmaster), transactions: await readTransactions(db) }
  let mostConnections = 0
  const startedAt = performance.now()
  while (performance.now() - startedAt < seconds * 1_000) {
    mostConnections = Math.max(mostConnections, await readConnections(db))
    await sleep(1_000)
  }
  const elapsed = (performance.now() - startedAt) / 1_000
  const cpu = (readPostgresSeconds(postmaster) - before.cpu) / elapsed
  const transactions = ((await readTransactions(db)) - before.transactions) / elapsed
  console.log(`processor time of PostgreSQL: ${(cpu * 100).toFixed(1)} % of one core`)
  console.log(`transactions: ${transactions.toFixed(1)} a second`)
  console.log(`connections: at most ${mostConnections}`)
}

async function readTransactions(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (xact_commit + xact_rollback)::float8 as count from pg_stat_database
    where datname = current_database()
  `.execute(db)
  return rows[0]?.count ?? 0
}

async function readConnections(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'
  `.execute(db)
  return rows[0]?.count ?? 0
}
