// Who may do what in the database: a role for each program, with no more than it needs. The owner's role is for migrations alone.
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { type Kysely, sql } from 'kysely'

export type RoleJob = 'api' | 'indexer' | 'importer'
/** The name and password that a program logs in with. */
export type Login = { name: string; password: string }

/** A grant: what may be done, and on what. */
const grants: Record<RoleJob, string[]> = {
  // Reads what it answers from, and of quotes only what says whether a link is good; writes when keys were used and links were opened.
  api: [
    'select on products, product_popularity, product_changes, search_engines, parked_documents, indexer_leases',
    'select on quote_deltas, quote_figures, quote_validity, quote_summary, currencies, countries, company, kysely_migration, kysely_migration_lock',
    'select (id, status, valid_until) on quotes',
    'select (id, quote_id, token_hash, document, content_hash, expires_at, revoked_at) on quote_shares',
    'insert on quote_share_views',
    'select (id, kind, scopes, origins, unlimited, limit_factor, secret_hash, expires_at, revoked_at, last_used_at) on api_keys',
    'update (last_used_at) on api_keys',
    'execute on function fold_quote_deltas(integer)',
  ],
  // Reads products and what says how often they are quoted; writes what it keeps about engines.
  indexer: [
    'select on products, currencies, countries, company, kysely_migration, kysely_migration_lock',
    'select (id, status, issued_on) on quotes',
    'select (quote_id, sku) on quote_lines',
    'select, insert, update, delete on search_engines, product_changes, product_popularity, parked_documents, indexer_leases',
    'execute on function has_older_transaction(xid8)',
  ],
  // Writes the catalogue and quotes, and makes and withdraws links.
  importer: [
    'select on currencies, countries, company, quote_share_views, kysely_migration, kysely_migration_lock',
    'select, insert, update, delete on products, customers, quotes, quote_lines',
    'select, insert, update on quote_shares',
    // For the statistics that it renews after a large file.
    'maintain on products, customers, quotes, quote_lines',
  ],
}

/**
 * Makes the roles, or gives them these passwords, and grants each what its job needs and nothing else in this database. Safe to run again. The
 * schema must be up to date, and `db` be of its owner, who may make roles.
 */
export async function grantRoles<DB>(db: Kysely<DB>, logins: Partial<Record<RoleJob, Login>>): Promise<void> {
  const wanted = Object.entries(logins) as [RoleJob, Login][]
  if (new Set(wanted.map(([, { name }]) => name)).size < wanted.length) throw new Error('Each program needs a database role of its own.')
  await db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('trade-quoting-service roles', 0))`.execute(transaction)
    for (const [job, login] of wanted) await grantRole(transaction, login, grants[job])
  })
}

async function grantRole<DB>(db: Kysely<DB>, { name, password }: Login, allowed: string[]): Promise<void> {
  const role = sql.id(name)
  const { rows } = await sql<{ exists: boolean; owns: boolean }>`
    select exists (select from pg_roles where rolname = ${name}) as exists,
      ${name} = current_user or ${name} = (select tableowner from pg_tables where schemaname = 'public' and tablename = 'products') as owns
  `.execute(db)
  if (rows[0]?.owns) throw new Error(`${name} owns the database: give each program a role of its own, not the one that migrates.`)
  if (!rows[0]?.exists) await sql`create role ${role} login`.execute(db)
  // As a verifier, so that the server's log never holds the password.
  await sql`alter role ${role} with login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password ${sql.lit(verifier(password))}`.execute(
    db,
  )
  for (const kind of ['tables', 'sequences', 'functions'])
    await sql`revoke all on all ${sql.raw(kind)} in schema public from ${role}`.execute(db)
  await sql`revoke all on schema public from ${role}`.execute(db)
  await sql`grant usage on schema public to ${role}`.execute(db)
  for (const grant of allowed) await sql`grant ${sql.raw(grant)} to ${role}`.execute(db)
}

const iterations = 4096

/** What PostgreSQL stores of a password: SCRAM-SHA-256 of RFC 5803, with a salt of its own. */
function verifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, iterations, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`
}
