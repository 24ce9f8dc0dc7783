// Two PostgreSQL servers with streaming replication that change roles: switched over, crashed, and
// copied anew from the primary as a replica.
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { giveTo } from '../../../scripts/servers/data-directory.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import type { RunningServer } from '../../../scripts/servers/running-server.ts'
import {
  openTestDatabase,
  prepareSchema,
  type Test,
  type TestDatabase,
} from '../database/test-database.ts'
import { eventually } from '../eventually.ts'
import { createTemporaryDirectory } from '../temporary-directory.ts'
import { chooseFixedPort } from './fixed-port.ts'

/** A crash of the process loses nothing that was committed. Power failures are not simulated. */
const settings = {
  fsync: 'off',
  shared_buffers: '64MB',
  max_connections: '200',
  // A replica that is copied anew still finds the log that it needs.
  wal_keep_size: '256MB',
}

type Node = { directory: string; port: number; server: RunningServer | null }

export type PostgresPair = {
  /** The database on both hosts, of which the primary is used. */
  database: TestDatabase
  /** The addresses of the server that is the primary at first, and of the other one. */
  hosts: [string, string]
  /** Ends the primary at once, as a crash does. What the replica has not received is lost. */
  crashPrimary(): Promise<void>
  /** Ends the replica at once. */
  crashReplica(): Promise<void>
  /** Stops the primary cleanly: the replica receives everything before. */
  stopPrimary(): Promise<void>
  /** Starts the primary again, which was not replaced. */
  startPrimary(): Promise<void>
  /** Starts the other server as it was: the replica, or the primary that was replaced. */
  startOther(): Promise<void>
  /** Makes the replica the primary. */
  promoteReplica(): Promise<void>
  /** Stops the primary and starts the server that it replaced, as that one was. */
  returnToReplaced(): Promise<void>
  /** Waits until the replica has applied everything that is committed now. */
  waitForReplica(): Promise<void>
  /** The replica receives nothing from now on. */
  cutReplication(): Promise<void>
  /** Copies the primary to the other server, which becomes its replica. */
  rebuildReplica(): Promise<void>
}

/** Starts both with a migrated database. They end with the test. */
export async function startPostgresPair(t: Test): Promise<PostgresPair> {
  const directory = createTemporaryDirectory(t, 'postgres-pair')
  const makeNode = async (name: string): Promise<Node> => ({
    directory: join(directory, name),
    port: await chooseFixedPort(),
    server: null,
  })
  const nodes: [Node, Node] = [await makeNode('a'), await makeNode('b')]
  let [primary, replica] = nodes
  t.teardown(() => Promise.all(nodes.map(({ server }) => server?.stop())))
  const start = async (node: Node) => {
    const { directory, port } = node
    node.server = await startPostgres({ directory, port, settings })
  }
  const crash = async (node: Node) => {
    process.kill(node.server?.pid ?? 0, 'SIGQUIT')
    await node.server?.exited
    node.server = null
  }
  await start(primary)
  await query(primary, 'create database quotes')
  const url = new URL('quotes', urlOf(primary))
  await prepareSchema(url.href)
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`) as [string, string]
  const urlOfBoth = `${url.href.replace(url.host, hosts.join(','))}?target_session_attrs=read-write`

  const pair: PostgresPair = {
    database: openTestDatabase(t, urlOfBoth),
    hosts,
    crashPrimary: () => crash(primary),
    crashReplica: () => crash(replica),
    async stopPrimary() {
      await primary.server?.stop()
      primary.server = null
    },
    startPrimary: () => start(primary),
    startOther: () => start(replica),
    async promoteReplica() {
      await query(replica, 'select pg_promote(true, 60)')
      ;[primary, replica] = [replica, primary]
    },
    async returnToReplaced() {
      await pair.stopPrimary()
      ;[primary, replica] = [replica, primary]
      await start(primary)
    },
    async waitForReplica() {
      const [{ lsn }] = await query(primary, 'select pg_current_wal_lsn()::text as lsn')
      const text = `select pg_last_wal_replay_lsn() >= '${lsn}' as done`
      await waitUntil(async () => (await query(replica, text))[0].done === true)
    },
    async cutReplication() {
      await query(replica, `alter system set primary_conninfo = ''`)
      await query(replica, 'select pg_reload_conf()')
      const text = 'select count(*)::integer as receivers from pg_stat_wal_receiver'
      await waitUntil(async () => (await query(replica, text))[0].receivers === 0)
    },
    async rebuildReplica() {
      await copyPrimary(primary, replica)
      await start(replica)
      await pair.waitForReplica()
    },
  }
  await pair.rebuildReplica()
  return pair
}

/** Copies the files of the running primary, as pg_basebackup does. The replica must not run. */
async function copyPrimary(primary: Node, replica: Node): Promise<void> {
  const data = join(replica.directory, 'data')
  rmSync(replica.directory, { recursive: true, force: true })
  const client = await openClient(primary)
  try {
    await client.query(`select pg_backup_start('replica', true)`)
    await copyFiles(['data', 'password'], primary.directory, replica.directory)
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    writeFileSync(join(data, 'backup_label'), rows[0].labelfile)
  } finally {
    await client.end()
  }
  rmSync(join(data, 'postmaster.pid'), { force: true })
  writeFileSync(join(data, 'standby.signal'), '')
  const { username, password } = new URL(urlOf(primary))
  // The runbook calls its standby db2.
  const source = [
    `host=127.0.0.1 port=${primary.port} user=${username} password=${password}`,
    'application_name=db2',
  ].join(' ')
  writeFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
  // Root gives the files to the account that the primary runs under.
  const { uid, gid } = statSync(primary.directory)
  if (process.getuid?.() === 0) giveTo({ uid, gid }, replica.directory)
}

/** Files that disappear meanwhile make cp end with an error. The log replaces them. */
function copyFiles(names: string[], from: string, to: string): Promise<void> {
  mkdirSync(to, { mode: 0o700 })
  const paths = names.map((name) => join(from, name))
  return new Promise((resolve) => execFile('cp', ['-a', ...paths, to], () => resolve()))
}

/** The URL of the superuser. */
function urlOf({ server }: Node): string {
  if (!server) throw new Error('This PostgreSQL is not running.')
  return server.url
}

async function openClient(node: Node): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: urlOf(node) })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

async function query(node: Node, text: string): Promise<pg.QueryResult['rows']> {
  const client = await openClient(node)
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function waitUntil(isDone: () => Promise<boolean>): Promise<void> {
  if (!(await eventually(isDone, Boolean, 60_000))) throw new Error('The replica is not ready.')
}
