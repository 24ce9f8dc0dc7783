// The commands of the runbook for backup and restore: afterwards data and rights are as before.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { writeCompanyFile } from '../support/database/company.ts'
import { hourMs, waitForFreshWindow } from '../support/fresh-window.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'
import { startDebianPostgres } from './debian-postgres.ts'

const root = join(import.meta.dirname, '../..')
const runbook = readFileSync(join(root, 'docs/operations/runbook.md'), 'utf8')
const chapter = runbook.split('\n## ').find((text) => text.startsWith('Back up and restore')) ?? ''
const [backUp = '', noteRevoked = '', , restore = '', revokeAgain = ''] = [
  ...chapter.matchAll(/```sh\n([\s\S]*?)```/g),
].map(([, block]) => block ?? '')

const server = await startDebianPostgres(t)
const directory = createTemporaryDirectory(t, 'restore')
writeCompanyFile(directory)

/** Commands in a container run here, `migrate` too. The other programs are not running. */
const dockerFunction = `docker() {
  case "$2 $3" in
    'exec -T') "$PROGRAMS/$5" "\${@:6}" ;;
    'run --rm') [ "$4" != migrate ] || "$NODE" "$ROOT/scripts/migrate.ts" >&2 ;;
  esac
}`

/** Runs a block of the runbook as it stands. */
function runBlock(block: string): string {
  const role = (name: string) => server.url.replace('quotes@', `quotes_${name}:secret@`)
  const { status, stderr } = spawnSync('bash', ['--norc', '-euc', `${dockerFunction}\n${block}`], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...{ PATH: process.env.PATH, PROGRAMS: server.programs, NODE: process.execPath },
      ...{ ROOT: root, PGHOST: '127.0.0.1', PGPORT: String(server.port) },
      DATABASE_URL: server.url,
      API_DATABASE_URL: role('api'),
      INDEXER_DATABASE_URL: role('indexer'),
      IMPORTER_DATABASE_URL: role('importer'),
      COMPANY_FILE: join(directory, 'company.json'),
    },
  })
  if (status !== 0) throw new Error(`${block}\n${stderr}`)
  return stderr
}

async function withDatabase<Result>(use: (db: Database) => Promise<Result>): Promise<Result> {
  const db = openDatabase(server.url, { connections: 1 })
  try {
    return await use(db)
  } finally {
    await db.destroy()
  }
}

/** Everything that anybody but the owner may do, and whom PostgreSQL asks for a password. */
async function readRights(db: Database): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select concat_ws(' ', kind, name, coalesce(grantee::regrole::text, '-'), privilege) as line
    from (
      select 'relation' as kind, relname::text as name, acl.*
        from pg_class, aclexplode(relacl) as acl (grantor, grantee, privilege, grantable)
        where relnamespace = 'public'::regnamespace
      union all
      select 'column', attrelid::regclass || '.' || attname, acl.*
        from pg_attribute, aclexplode(attacl) as acl
        where attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
      union all
      select 'function', p.oid::regprocedure::text, acl.*
        from pg_proc as p,
          aclexplode(coalesce(proacl, acldefault('f', proowner))) as acl
        where pronamespace = 'public'::regnamespace
      union all
      select 'database', datname, acl.* from pg_database, aclexplode(datacl) as acl
        where datname = current_database()
    ) as rights
    where grantee <> 'quotes'::regrole
    union all
    select 'role ' || rolname from pg_roles where rolname like 'quotes%' and rolcanlogin
    order by line
  `.execute(db)
  return rows.map(({ line }) => line)
}

const readClosed = async (db: Database) => {
  const keys = await sql<{ name: string }>`
    select name from api_keys where revoked_at is not null order by name
  `.execute(db)
  const links = await sql<{ id: string }>`
    select id::text from quote_shares where revoked_at is not null order by id
  `.execute(db)
  return { keys: keys.rows, links: links.rows }
}

const emptyCluster = `
  "$PROGRAMS/dropdb" -U quotes quotes && "$PROGRAMS/createdb" -U quotes quotes
  "$PROGRAMS/psql" -U quotes -qc 'drop role quotes_api, quotes_indexer, quotes_importer'`

t.test('a restore brings back data and rights, and what was revoked stays revoked', async (t) => {
  runBlock('docker compose run --rm migrate')
  const before = await withDatabase(async (db) => {
    for (const number of ['P-1', 'P-2']) {
      await addQuote(db, number)
      await createQuoteLink(db, { number })
    }
    for (const name of ['ERP', 'Shop'])
      await createApiKey(db, { kind: 'secret', name, scopes: ['search:read'] })
    return readRights(db)
  })
  t.ok(before.length > 100, 'there are rights to compare')
  await waitForFreshWindow(hourMs, 60_000)
  // As `date +%F` writes it in the name of the backup, which is in local time.
  const today = new Date().toLocaleDateString('en-CA')
  runBlock(backUp)
  const closed = await withDatabase(async (db) => {
    await sql`update api_keys set revoked_at = now() where name = 'ERP'`.execute(db)
    await sql`select revoke_quote_share(min(id)) from quote_shares`.execute(db)
    return readClosed(db)
  })
  t.same([closed.keys.length, closed.links.length], [1, 1])

  runBlock(noteRevoked)
  runBlock(emptyCluster)
  runBlock(restore.replaceAll(/\d{4}-\d{2}-\d{2}/g, today))
  t.same(await withDatabase(readRights), before)
  t.same(await withDatabase(readClosed), { keys: [], links: [] }, 'open again')
  runBlock(revokeAgain)
  t.same(await withDatabase(readClosed), closed)
})

t.test('migrate closes what a restore without its rights leaves open', async (t) => {
  const before = await withDatabase(readRights)
  runBlock(emptyCluster)
  runBlock('"$PROGRAMS/pg_restore" -U quotes -d quotes --no-owner --no-privileges quotes-*.dump')
  const open = await withDatabase(readRights)
  t.ok(
    open.some((line) => line.startsWith('function fold_statistics(integer,pg_snapshot) - EXECUTE')),
  )
  runBlock('docker compose run --rm migrate')
  t.same(await withDatabase(readRights), before)
})
