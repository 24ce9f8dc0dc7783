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

/** Imports stage their rows in temporary tables. Nobody else needs any, and with them what is broken into could fill the disk. */
const stages: RoleJob = 'importer'

/**
 * Makes the roles, or gives them these passwords, and grants each what its job needs and nothing else in this database. Safe to run again. The
 * schema must be up to date, and `db` be of its owner, who need not be superuser: with CREATEROLE it makes roles, and without it those that are there
 * already get their grants and keep their passwords. Answers with what an administrator should know.
 */
export async function grantRoles<DB>(
  db: Kysely<DB>,
  logins: Partial<Record<RoleJob, Login>>,
): Promise<string[]> {
  const wanted = Object.entries(logins) as [RoleJob, Login][]
  if (new Set(wanted.map(([, { name }]) => name)).size < wanted.length)
    throw new Error('Each program needs a database role of its own.')
  return db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('trade-quoting-service roles', 0))`.execute(
      transaction,
    )
    const remarks = wanted.length > 0 ? await remarksOnOwner(transaction) : []
    for (const [job, login] of wanted)
      remarks.push(...(await grantRole(transaction, login, grants[job])))
    if (wanted.length > 0) remarks.push(...(await limitTemporaryTables(transaction, logins)))
    return remarks
  })
}

/** The indexer asks, by a function of the owner, whether older transactions are open; without this right it would see the owner's alone. */
async function remarksOnOwner<DB>(db: Kysely<DB>): Promise<string[]> {
  const { rows } = await sql<{ owner: string; sees: boolean }>`
    select current_user as owner, pg_has_role('pg_read_all_stats', 'usage') as sees
  `.execute(db)
  return rows
    .filter(({ sees }) => !sees)
    .map(
      ({ owner }) =>
        `${owner} does not see the transactions of other roles: let an administrator run \`grant pg_read_all_stats to ${owner}\`. Until then stop what writes products while an indexer works for the first time with a SEARCH_ENGINE of a new name.`,
    )
}

/** Takes the right to make temporary tables, which everybody has in a new database, from all but the importer and the owner. */
export async function limitTemporaryTables<DB>(
  db: Kysely<DB>,
  logins: Partial<Record<RoleJob, Login>>,
): Promise<string[]> {
  const names = Object.values(logins).map(({ name }) => name)
  const others = names.filter((name) => name !== logins[stages]?.name)
  const { rows } = await sql<{ database: string }>`select current_database() as database`.execute(
    db,
  )
  const database = sql.id(rows[0]?.database ?? '')
  // Who does not own the database gets a warning for each, and nothing changes.
  await sql`revoke temporary on database ${database} from ${sql.join([sql`public`, ...names.map((name) => sql.id(name))])}`.execute(
    db,
  )
  if (logins[stages])
    await sql`grant temporary on database ${database} to ${sql.id(logins[stages].name)}`.execute(db)
  const able = await sql<{ name: string; database: string; me: string }>`
    select rolname as name, quote_ident(current_database()) as database, quote_ident(current_user) as me from pg_roles
    where rolname = any(${others}) and has_database_privilege(oid, current_database(), 'temporary') order by rolname
  `.execute(db)
  return able.rows.map(
    ({ name, database, me }) =>
      `${name} may make temporary tables, and ${me} may not take that from it: let the owner of the database run \`revoke temporary on database ${database} from public\`, and grant it to the importer.`,
  )
}

async function grantRole<DB>(db: Kysely<DB>, login: Login, allowed: string[]): Promise<string[]> {
  const { name } = login
  const role = sql.id(name)
  const remarks = await ensureRole(db, login)
  for (const kind of ['tables', 'sequences', 'functions'])
    await sql`revoke all on all ${sql.raw(kind)} in schema public from ${role}`.execute(db)
  await sql`revoke all on schema public from ${role}`.execute(db)
  await sql`grant usage on schema public to ${role}`.execute(db)
  for (const grant of allowed) await sql`grant ${sql.raw(grant)} to ${role}`.execute(db)
  return remarks
}

type Standing = {
  exists: boolean
  owns: boolean
  mayChange: boolean
  mayMake: boolean
  powers: string[]
  me: string
}

/** Makes the role, or gives it this password and takes from it what goes beyond any grant, as far as the owner may. */
async function ensureRole<DB>(db: Kysely<DB>, { name, password }: Login): Promise<string[]> {
  const role = sql.id(name)
  const { rows } = await sql<Standing>`
    select me.rolname as me, r.oid is not null as exists, me.rolsuper or me.rolcreaterole as "mayMake",
      ${name} = me.rolname or ${name} = (select tableowner from pg_tables where schemaname = 'public' and tablename = 'products') as owns,
      me.rolsuper or me.rolcreaterole and coalesce(pg_has_role(me.oid, r.oid, 'member with admin option'), false) as "mayChange",
      array_remove(array[
        case when r.rolsuper then 'superuser' end, case when r.rolcreatedb then 'createdb' end, case when r.rolcreaterole then 'createrole' end,
        case when r.rolreplication then 'replication' end, case when r.rolbypassrls then 'bypassrls' end
      ], null) as powers
    from pg_roles as me left join pg_roles as r on r.rolname = ${name}
    where me.rolname = current_user
  `.execute(db)
  const {
    exists = false,
    owns = false,
    mayChange = false,
    mayMake = false,
    powers = [],
    me = '',
  } = rows[0] ?? {}
  if (owns)
    throw new Error(
      `${name} owns the database: give each program a role of its own, not the one that migrates.`,
    )
  if (!exists && !mayMake)
    throw new Error(
      `${me} may not make the role ${name}: let an administrator run ${howToMake(me, name)}.`,
    )
  if (exists && !mayChange) {
    if (powers.length > 0)
      throw new Error(
        `The role ${name} has ${powers.join(', ')}, which ${me} may not take from it: make another.`,
      )
    return [
      `${me} may not change the role ${name}, which somebody else made: its password stays as it is.`,
    ]
  }
  if (!exists) await sql`create role ${role} login`.execute(db)
  // Only what it has is taken away: to say "nosuperuser" of a role that is none is for superusers.
  const less = powers.map((power) => `no${power}`).join(' ')
  // As a verifier, so that the server's log never holds the password.
  await sql`alter role ${role} with login ${sql.raw(less)} password ${sql.lit(verifier(password))}`.execute(
    db,
  )
  return []
}

const howToMake = (owner: string, name: string) =>
  `\`alter role ${owner} createrole\`, or \`create role ${name} login password '…'\`, and then this again`

const iterations = 4096

/** What PostgreSQL stores of a password: SCRAM-SHA-256 of RFC 5803, with a salt of its own. */
function verifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, iterations, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`
}
