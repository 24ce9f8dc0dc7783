// Reads the tables, views, functions, types and extensions of a database from PostgreSQL's
// catalogue.
import { type Kysely, sql } from 'kysely'

export type Column = {
  name: string
  type: string
  collation: string | null
  isRequired: boolean
  isIdentity: boolean
  isGenerated: boolean
  /** The default value, or the expression of a generated column. */
  expression: string | null
}

export type Table = {
  name: string
  comment: string | null
  columns: Column[]
  /** Definitions of the constraints, each with its name. */
  constraints: { name: string; definition: string }[]
  /** Definitions of the indexes that no constraint makes. */
  indexes: string[]
  triggers: string[]
  /** How the table is divided into partitions, such as `list (grain)`. */
  partitionKey: string | null
  partitions: { name: string; bound: string; comment: string | null }[]
  storageOptions: string[]
  publicGrants: string[]
}

export type View = { name: string; comment: string | null; definition: string }
export type SqlFunction = {
  name: string
  signature: string
  comment: string | null
  definition: string
  /** Whether every role may execute the function, which is PostgreSQL's default. */
  isPublic: boolean
}
/** An enum or a composite type. `definition` is SQL. */
export type OwnType = { name: string; comment: string | null; definition: string }

export type Catalogue = {
  extensions: string[]
  types: OwnType[]
  tables: Table[]
  views: View[]
  functions: SqlFunction[]
}

/**
 * Reads the schema `public`, without Kysely's own tables and without objects that belong to an
 * extension. The order of everything depends on names and column positions only.
 */
export async function readCatalogue<DB>(db: Kysely<DB>): Promise<Catalogue> {
  const [extensions, types, tables, views, functions] = await Promise.all([
    sql<{ name: string }>`
      select extname as name from pg_extension where extname <> 'plpgsql' order by extname`.execute(
      db,
    ),
    readTypes(db),
    readTables(db),
    readViews(db),
    readFunctions(db),
  ])
  return { extensions: extensions.rows.map(({ name }) => name), types, tables, views, functions }
}

/** Returns the SQL condition that an object does not belong to an extension. */
const notInExtension = (catalogue: string, oid: string) =>
  sql.raw(`not exists (
    select from pg_depend d
    where d.classid = '${catalogue}'::regclass and d.objid = ${oid} and d.deptype = 'e'
  )`)

async function readTables<DB>(db: Kysely<DB>): Promise<Table[]> {
  const { rows } = await sql<Table>`
    select c.relname as name, obj_description(c.oid, 'pg_class') as comment,
      coalesce((
        select json_agg(json_build_object(
          'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
          'collation', (
            select collname from pg_collation
            where oid = a.attcollation and oid <> 'default'::regcollation
          ),
          'isRequired', a.attnotnull, 'isIdentity', a.attidentity <> '',
          'isGenerated', a.attgenerated <> '',
          'expression', pg_get_expr(e.adbin, e.adrelid, true)
        ) order by a.attnum)
        from pg_attribute a left join pg_attrdef e on e.adrelid = a.attrelid and e.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      ), '[]') as columns,
      coalesce((
        select json_agg(
          json_build_object('name', conname, 'definition', pg_get_constraintdef(oid, true))
          order by array_position(array['p', 'u', 'f', 'c', 'x'], contype::text), conname
        ) from pg_constraint where conrelid = c.oid and contype in ('p', 'u', 'f', 'c', 'x')
      ), '[]') as constraints,
      coalesce((
        select json_agg(
          pg_get_indexdef(indexrelid, 0, true) order by indexrelid::regclass::text collate "C"
        )
        from pg_index i where i.indrelid = c.oid
          and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
      ), '[]') as indexes,
      coalesce((
        select json_agg(pg_get_triggerdef(oid, true) order by tgname)
        from pg_trigger where tgrelid = c.oid and not tgisinternal
      ), '[]') as triggers,
      pg_get_partkeydef(c.oid) as "partitionKey",
      coalesce((
        select json_agg(json_build_object(
          'name', p.relname, 'bound', pg_get_expr(p.relpartbound, p.oid),
          'comment', obj_description(p.oid, 'pg_class')
        ) order by p.relname)
        from pg_inherits h join pg_class p on p.oid = h.inhrelid where h.inhparent = c.oid
      ), '[]') as partitions,
      to_json(coalesce(c.reloptions, '{}')) as "storageOptions",
      coalesce((
        select json_agg(lower(privilege_type) order by privilege_type)
        from aclexplode(c.relacl) where grantee = 0
      ), '[]') as "publicGrants"
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition and c.relname !~ '^kysely_'
      and ${notInExtension('pg_class', 'c.oid')}
    order by c.relname collate "C"`.execute(db)
  return rows
}

async function readViews<DB>(db: Kysely<DB>): Promise<View[]> {
  const { rows } = await sql<View>`
    select c.relname as name, obj_description(c.oid, 'pg_class') as comment,
      pg_get_viewdef(c.oid, true) as definition
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('v', 'm')
      and ${notInExtension('pg_class', 'c.oid')}
    order by c.relname collate "C"`.execute(db)
  return rows
}

async function readFunctions<DB>(db: Kysely<DB>): Promise<SqlFunction[]> {
  const { rows } = await sql<SqlFunction>`
    select p.proname as name, p.oid::regprocedure::text as signature,
      obj_description(p.oid, 'pg_proc') as comment, pg_get_functiondef(p.oid) as definition,
      has_function_privilege('public', p.oid, 'execute') as "isPublic"
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace and ${notInExtension('pg_proc', 'p.oid')}
    order by p.oid::regprocedure::text collate "C"`.execute(db)
  return rows
}

async function readTypes<DB>(db: Kysely<DB>): Promise<OwnType[]> {
  const { rows } = await sql<OwnType>`
    select t.typname as name, obj_description(t.oid, 'pg_type') as comment,
      case t.typtype
        when 'e' then 'enum (' || (
          select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder)
          from pg_enum where enumtypid = t.oid
        ) || ')'
        else '(' || (
          select string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', '
            order by attnum)
          from pg_attribute where attrelid = t.typrelid and attnum > 0 and not attisdropped
        ) || ')'
      end as definition
    from pg_type t left join pg_class c on c.oid = t.typrelid
    where t.typnamespace = 'public'::regnamespace
      and (t.typtype = 'e' or t.typtype = 'c' and c.relkind = 'c')
      and ${notInExtension('pg_type', 't.oid')}
    order by t.typname collate "C"`.execute(db)
  return rows
}
