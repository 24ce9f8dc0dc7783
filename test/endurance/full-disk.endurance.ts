// While the disk of the search engine is full, the log, the health check and the alerts of the
// indexer say so. Once there is room it goes on by itself. The disk is a small file system in
// memory, so this test needs Linux and root. It takes a minute.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { deriveIndexerKey, ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { startPrometheus } from '../operations/fault-world.ts'
import { servers, testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/run-program.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const patienceMs = 120_000
const diskBytes = 200_000_000

/** Mounts the small disk. It is removed with the test. */
function mountDisk(): string {
  const disk = join(createTemporaryDirectory(t, 'full-disk'), 'disk')
  mkdirSync(disk)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', disk])
  } catch (cause) {
    throw new Error('This test mounts a file system, which needs Linux and root.', { cause })
  }
  t.teardown(() => execFileSync('umount', ['--lazy', disk]))
  return disk
}

const { meiliMasterKey: masterKey } = await servers()
const { db, roles } = await testDatabase(t)
const disk = mountDisk()
const engine = await startMeilisearch({ directory: join(disk, 'engine'), masterKey })
t.teardown(() => engine.stop())
await ensurePermanentKeys(openIndexingClient(engine.url, masterKey))
const port = await chooseFixedPort()
const indexer = startProgram(t, ['scripts/indexer.ts'], {
  INDEXER_DATABASE_URL: roles.indexer,
  MEILI_URL: engine.url,
  MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
  INDEXER_OPS_PORT: String(port),
})
const prometheus = await startPrometheus(t)
prometheus.setTargets({ 'trade-quoting-service': [], 'trade-quoting-service-indexer': [port] })

type Health = { status: string; failing: string | null }

const readHealth = (): Promise<Health | null> =>
  fetch(`http://127.0.0.1:${port}/health/ready`).then(
    async (response) => (await response.json()) as Health,
    () => null,
  )

/** Waits for this status, and returns the last answer. */
const untilStatus = (status: string) =>
  eventually(readHealth, (health) => health?.status === status, patienceMs)

/** Returns the lines of the log. The last one may be incomplete. */
const readLog = () =>
  indexer
    .output()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { level: number; msg: string })

const readLastMessage = async () => readLog().at(-1)?.msg

const isFollowing = (message?: string) =>
  message === 'Following changes.' || message === 'The indexer works again.'

const fill = () => {
  try {
    writeFileSync(join(disk, 'filler'), Buffer.alloc(diskBytes))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

t.test('the indexer fails visibly while the disk is full, and then goes on', async (t) => {
  t.match(await untilStatus('following changes'), { failing: null }, indexer.output())
  // The log is written in blocks, so its last line may come after the answer of the health check.
  t.ok(isFollowing(await eventually(readLastMessage, isFollowing, patienceMs)))
  fill()
  const lineCount = readLog().length
  await sql`
    insert into products (sku, name, description)
    select 'Q-' || n, 'Clavo ' || n, repeat(md5(n::text), 100) from generate_series(1, 3000) n
  `.execute(db)
  t.match((await untilStatus('failing'))?.failing, /^engine_(refused|unreachable|task)$/)
  t.same(await prometheus.waitFor(['IndexerFailing', 'IndexBehind'], patienceMs), [], 'alerts')
  const namesCause = async () =>
    readLog().some(({ msg }) => msg.includes('No space left on device'))
  t.ok(await eventually(namesCause, Boolean, patienceMs), 'the log names the cause')
  const calmLines = readLog()
    .slice(lineCount)
    .filter(({ level }) => level < 40)
  t.same(calmLines, [], 'no line says that changes are followed')

  rmSync(join(disk, 'filler'))
  t.match(await untilStatus('following changes'), { failing: null }, indexer.output())
  t.ok(isFollowing(await eventually(readLastMessage, isFollowing, patienceMs)))
  const alerts = ['IndexerFailing', 'IndexBehind']
  const firing = await eventually(
    prometheus.listFiring,
    (names) => !names.some((name) => alerts.includes(name)),
    patienceMs,
  )
  t.notOk(
    firing.some((name) => alerts.includes(name)),
    `${firing}`,
  )
})
