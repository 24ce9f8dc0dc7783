// What the database role of each program may do. Creates the roles and grants them these rights.
// Migrations run as the owner of the schema.
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { readServerVersion } from './run-migrations.ts'

/** The programs that have a role of their own. */
export type Program = 'api' | 'indexer' | 'importer'
/** The name and password that a program logs in with. */
export type Login = { name: string; password: string }

/** What GRANT allows each program: privileges, and the objects they apply to. */
const grants: Record<Program, string[]> = {
  // Reads what its responses need, but no quotes. Records the use of keys and the views of links.
  api: [
    `select on products, product_words, product_popularity, index_outbox, search_indexes,
      index_parked_documents, index_leases`,
    'select on search_synonyms, search_pins, search_hidden_words, search_words_version',
    // breakdown_sources selects nothing. The API locks it to lock tables that it may not read.
    `select on summary_state, summary_check, quote_figures, customer_figures, product_figures,
      breakdown_sources`,
    'select on currencies, countries, company, kysely_migration, kysely_migration_lock',
    'select (id, name) on customers',
    // Reads the link of a token that a visitor presents, and no other.
    'execute on function read_quote_share(bytea), read_quote_share_document(bytea)',
    'insert (share_id) on quote_share_views',
    `select (id, kind, scopes, origins, unlimited, limit_factor, secret_hash, expires_at,
      revoked_at) on api_keys`,
    'select, insert, update on api_key_usage',
    'select, insert, update on search_report_days, search_report_counts',
    `execute on function is_fold_due(), fold_statistics(integer, pg_snapshot),
      claim_month(interval), check_claimed_month(date),
      customer_figures_between(text, date, date), product_figures_between(text, date, date)`,
  ],
  // Reads products and how often they are quoted. Writes its own records about search indexes.
  indexer: [
    'select on products, currencies, countries, company, kysely_migration, kysely_migration_lock',
    'select on search_synonyms, search_pins, search_hidden_words, search_words_version',
    'select (id, status, issued_on) on quotes',
    'select (quote_id, sku) on quote_lines',
    `select, insert, update, delete on search_indexes, index_outbox, product_popularity,
      index_parked_documents, index_leases`,
    `execute on function has_older_transaction(xid8), purge_quote_shares(integer),
      purge_search_report(), refresh_product_words()`,
  ],
  // Writes the catalogue and the quotes, and creates and revokes links.
  importer: [
    'select on currencies, countries, company, kysely_migration, kysely_migration_lock',
    'select, insert, update, delete on products, customers, quotes, quote_lines',
    'select, insert, update, delete on search_synonyms, search_pins, search_hidden_words',
    `execute on function create_quote_share(text, integer, bytea, timestamptz, text),
      revoke_quote_share(bigint), revoke_quote_shares(text, integer), list_quote_shares(text),
      read_quote_share_document(bytea), is_fold_due(), fold_statistics(integer, pg_snapshot)`,
    // An import of quotes ends with a fold.
    'select on summary_state',
    // For ANALYZE after a large import. Without it PostgreSQL skips the ANALYZE with a warning.
    'maintain on products, customers, quotes, quote_lines',
  ],
}

/**
 * How long a statement of a program may run, if there is a limit. Statements of the API take
 * milliseconds, and after 10 s the client has given up. It is a setting of the role because
 * PgBouncer refuses settings of a connection.
 */
const statementLimits: Partial<Record<Program, string>> = { api: '10s' }

/**
 * Imports stage their rows in temporary tables. The other programs need none, and an attacker who
 * controls one of them could fill the disk with temporary tables.
 */
const programWithTemporaryTables: Program = 'importer'

/**
 * Functions that only their owner may call, unless they are granted above. The same holds for all
 * functions that run with the rights of their owner.
 */
const ownFunctions = ['rebuild_summary', 'newest_month_before', 'is_oldest_of_year']

/** Functions that run with the rights of their owner, and that every role may call. */
const publicFunctions = ['database_identity']

/**
 * Creates the roles, or sets their passwords, and grants each role what its program needs in this
 * database and nothing else. Safe to run again. The schema must be up to date.
 *
 * `db` must be connected as the owner of the schema, who need not be a superuser. With CREATEROLE
 * the owner creates roles; without it, existing roles get their grants and keep their passwords.
 * Returns notes for an administrator.
 */
export async function grantRoles<DB>(
  db: Kysely<DB>,
  logins: Partial<Record<Program, Login>>,
): Promise<string[]> {
  const entries = Object.entries(logins) as [Program, Login][]
  if (new Set(entries.map(([, { name }]) => name)).size < entries.length)
    throw new Error('Each program needs a database role of its own.')
  if (entries.length === 0) return []
  return db.transaction().execute(async (transaction) => {
    await sql`
      select pg_advisory_xact_lock(hashtextextended('trade-quoting-service roles', 0))
    `.execute(transaction)
    const notes = await checkOwnerSeesTransactions(transaction)
    await revokeFromEverybody(transaction)
    for (const [program, login] of entries)
      notes.push(...(await grantRole(transaction, login, program)))
    notes.push(...(await limitTemporaryTables(transaction, logins)))
    return notes
  })
}

/**
 * The schema revokes these rights too, but a restore without privileges opens the functions again,
 * because PostgreSQL lets everybody call a new function.
 */
async function revokeFromEverybody<DB>(db: Kysely<DB>): Promise<void> {
  const { rows } = await sql<{ signature: string }>`
    select p.oid::regprocedure::text as signature
    from pg_proc as p
    where pronamespace = 'public'::regnamespace
      and proowner = current_user::regrole
      and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
      and (prosecdef or proname = any(${ownFunctions}))
      and proname <> all(${publicFunctions})
  `.execute(db)
  for (const { signature } of rows)
    await sql`revoke execute on function ${sql.raw(signature)} from public`.execute(db)
}

/**
 * The indexer uses a function of the owner to find older open transactions. Without
 * pg_read_all_stats that function sees only the transactions of the owner.
 */
async function checkOwnerSeesTransactions<DB>(db: Kysely<DB>): Promise<string[]> {
  const { rows } = await sql<{ owner: string; seesAll: boolean }>`
    select current_user as owner, pg_has_role('pg_read_all_stats', 'usage') as "seesAll"
  `.execute(db)
  return rows
    .filter(({ seesAll }) => !seesAll)
    .map(
      ({ owner }) =>
        `${owner} does not see the transactions of other roles: let an administrator run ` +
        `\`grant pg_read_all_stats to ${owner}\`. Until then stop every program that writes ` +
        'products while an indexer works for the first time with a SEARCH_ENGINE of a new name.',
    )
}

/**
 * Revokes the right to create temporary tables, which every role has in a new database, from all
 * roles but the importer's and the owner's. Returns a note for each role that keeps the right.
 */
export async function limitTemporaryTables<DB>(
  db: Kysely<DB>,
  logins: Partial<Record<Program, Login>>,
): Promise<string[]> {
  const allowedName = logins[programWithTemporaryTables]?.name
  const names = Object.values(logins).map(({ name }) => name)
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  const database = sql.id(rows[0]?.name ?? '')
  const revoked = sql.join([sql`public`, ...names.map((name) => sql.id(name))])
  // If the current role does not own the database, PostgreSQL warns and changes nothing.
  await sql`revoke temporary on database ${database} from ${revoked}`.execute(db)
  if (allowedName)
    await sql`grant temporary on database ${database} to ${sql.id(allowedName)}`.execute(db)
  const others = names.filter((name) => name !== allowedName)
  const remaining = await sql<{ name: string; database: string; me: string }>`
    select rolname as name, quote_ident(current_database()) as database,
      quote_ident(current_user) as me
    from pg_roles
    where rolname = any(${others})
      and has_database_privilege(oid, current_database(), 'temporary')
    order by rolname
  `.execute(db)
  return remaining.rows.map(
    ({ name, database, me }) =>
      `${name} may create temporary tables, and ${me} may not revoke that right: let the owner ` +
      `of the database run \`revoke temporary on database ${database} from public\`, ` +
      'and grant it to the importer.',
  )
}

const firstVersionWithMaintain = 17

async function grantRole<DB>(db: Kysely<DB>, login: Login, program: Program): Promise<string[]> {
  const role = sql.id(login.name)
  const notes = await ensureRole(db, login, statementLimits[program])
  for (const kind of ['tables', 'sequences', 'functions'])
    await sql`revoke all on all ${sql.raw(kind)} in schema public from ${role}`.execute(db)
  await sql`revoke all on schema public from ${role}`.execute(db)
  await sql`grant usage on schema public to ${role}`.execute(db)
  const hasMaintain = (await readServerVersion(db)) >= firstVersionWithMaintain
  for (const privilege of grants[program])
    if (hasMaintain || !privilege.startsWith('maintain '))
      await sql`grant ${sql.raw(privilege)} to ${role}`.execute(db)
  return notes
}

/**
 * Creates the role, or sets its password and removes attributes that exceed every grant, as far as
 * the current role may do that. Returns notes for an administrator.
 */
async function ensureRole<DB>(
  db: Kysely<DB>,
  { name, password }: Login,
  statementLimit: string | undefined,
): Promise<string[]> {
  const { me, exists, isOwner, mayCreate, mayAlter, attributes } = await readRoleState(db, name)
  if (isOwner)
    throw new Error(
      `${name} owns the database: give each program a role of its own, not the one that migrates.`,
    )
  if (!exists && !mayCreate)
    throw new Error(
      `${me} may not create the role ${name}: let an administrator run ` +
        `\`alter role ${me} createrole\`, or \`create role ${name} login password '…'\`, ` +
        'and then run this again.',
    )
  if (exists && !mayAlter) {
    if (attributes.length > 0)
      throw new Error(
        `The role ${name} has ${attributes.join(', ')}, which ${me} may not revoke: ` +
          'use another role.',
      )
    return [
      `${me} may not change the role ${name}, which another role created: its password stays.` +
        (statementLimit === undefined
          ? ''
          : ' Let an administrator run ' +
            `\`alter role ${name} set statement_timeout = '${statementLimit}'\`.`),
    ]
  }
  const role = sql.id(name)
  if (!exists) await sql`create role ${role} login`.execute(db)
  // Only superusers may write "nosuperuser", even for a role that is none, so only the attributes
  // that the role has are removed. The server's log shows the verifier, never the password.
  const removals = sql.raw(attributes.map((attribute) => `no${attribute}`).join(' '))
  const verifier = sql.lit(createScramVerifier(password))
  await sql`alter role ${role} with login ${removals} password ${verifier}`.execute(db)
  if (statementLimit !== undefined)
    await sql`alter role ${role} set statement_timeout = ${sql.lit(statementLimit)}`.execute(db)
  return []
}

type RoleState = {
  /** The current role. */
  me: string
  exists: boolean
  /** Whether the role is the current one or owns the tables. */
  isOwner: boolean
  /** Whether the current role may create roles. */
  mayCreate: boolean
  /** Whether the current role may alter this role. */
  mayAlter: boolean
  /** The attributes of the role that exceed every grant, such as superuser. */
  attributes: string[]
}

/**
 * Since PostgreSQL 16, a role that may create roles may alter only those of which it is an
 * administrator. Until 15 it may alter all but those with the rights of a superuser.
 */
async function readRoleState<DB>(db: Kysely<DB>, name: string): Promise<RoleState> {
  const { rows } = await sql<RoleState>`
    select me.rolname as me, r.oid is not null as exists,
      ${name} = me.rolname or ${name} = (
        select tableowner from pg_tables where schemaname = 'public' and tablename = 'products'
      ) as "isOwner",
      me.rolsuper or me.rolcreaterole as "mayCreate",
      me.rolsuper or me.rolcreaterole and case
        when current_setting('server_version_num')::integer >= 160000
          then coalesce(pg_has_role(me.oid, r.oid, 'member with admin option'), false)
        else not (r.rolsuper or r.rolreplication or r.rolbypassrls)
      end as "mayAlter",
      array_remove(array[
        case when r.rolsuper then 'superuser' end,
        case when r.rolcreatedb then 'createdb' end,
        case when r.rolcreaterole then 'createrole' end,
        case when r.rolreplication then 'replication' end,
        case when r.rolbypassrls then 'bypassrls' end
      ], null) as attributes
    from pg_roles as me left join pg_roles as r on r.rolname = ${name}
    where me.rolname = current_user
  `.execute(db)
  const [state] = rows
  if (!state) throw new Error('The current role is not in pg_roles.')
  return state
}

const scramIterations = 4096

/** Returns what PostgreSQL stores for a password: SCRAM-SHA-256 (RFC 5803) with a random salt. */
function createScramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, scramIterations, 32, 'sha256')
  const sign = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(sign('Client Key')).digest('base64')
  const serverKey = sign('Server Key').toString('base64')
  return `SCRAM-SHA-256$${scramIterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
