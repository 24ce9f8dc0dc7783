// Writes the schema of a database as one readable SQL text, grouped by feature.
import type { Kysely } from 'kysely'
import { tidyExpression, wrapLines } from './format-sql.ts'
import {
  type Catalogue,
  type Column,
  type OwnType,
  readCatalogue,
  type SqlFunction,
  type Table,
  type View,
} from './read-catalogue.ts'

/** The names of tables, views, types and functions by the section of schema.sql that shows them. */
const sections: Record<string, string[]> = {
  'Company, currencies and countries': ['currencies', 'countries', 'company', 'currency_digits'],
  'Products, and text search in PostgreSQL': [
    'products',
    'product_popularity',
    'fold_text',
    'code_key',
    'filter_key',
  ],
  'The words of search that the company owns': [
    'search_synonyms',
    'search_pins',
    'search_hidden_words',
    'search_words_version',
    'search_phrase',
    'check_search_phrase',
    'prepare_search_synonyms',
    'prepare_search_pins',
    'prepare_search_hidden_word',
    'change_search_words_version',
  ],
  'What people search for': [
    'search_report_days',
    'search_report_texts',
    'search_report_counts',
    'purge_search_report',
  ],
  'Customers and quotes': [
    'customers',
    'languages',
    'quotes',
    'quote_lines',
    'line_net',
    'tax_amount',
    'quote_totals',
    'default_tax_label',
    'quote_legal',
    'check_rate_of_base_currency',
    'check_rates_for_company',
    'is_current_status',
    'quote_languages',
    'supersede_older_versions',
  ],
  'Quote links': [
    'frozen_valid_until',
    'quote_shares',
    'quote_share_settings',
    'quote_share_views',
    'guard_quote_share',
    'money_json',
    'unit_price_json',
    'canonical_json',
    'quote_document',
    'create_quote_share',
    'revoke_quote_share',
    'revoke_quote_shares',
    'require_durable_revocation',
    'list_quote_shares',
    'read_quote_share',
    'read_quote_share_document',
    'purge_quote_shares',
  ],
  Statistics: [
    'net_in_base',
    'quote_figures_of',
    'quote_validity_of',
    'accepted_line',
    'quote_changes',
    'quote_figures',
    'quote_figures_unfolded',
    'quote_validity',
    'quote_validity_unfolded',
    'quote_summary',
    'next_unfolded_xid',
    'late_unfolded_xids',
    'unfolded_changes',
    'count_unfolded_changes',
    'grouped_figures',
    'changed_figures',
    'current_figures',
    'current_validity',
    'append_quote_changes',
    'append_replicated_change',
    'fold_quote_changes',
    'begin_summary_edition',
    'quotes_between',
    'figures_from_quotes',
    'validity_from_quotes',
    'find_summary_differences',
    'summary_check',
    'summary_differences',
    'newest_month_before',
    'claim_summary_check',
    'run_summary_check',
    'rebuild_quote_summary',
    'rebuild_for_company',
    'empty_quote_summary',
  ],
  'Statistics by customer and by product': [
    'customer_figures',
    'customer_figures_unfolded',
    'product_figures',
    'product_figures_unfolded',
    'current_customer_figures',
    'current_product_figures',
    'append_line_changes',
    'append_replicated_line',
    'subtract_lines_of_quote',
    'empty_product_figures',
    'customer_figures_from_quotes',
    'product_figures_from_quotes',
    'customer_figures_between',
    'product_figures_between',
    'breakdown_sources',
    'note_customer_names',
    'note_product_names',
    'note_changed_name',
  ],
  'Search index': [
    'search_indexes',
    'index_outbox',
    'index_parked_documents',
    'index_leases',
    'queue_product_changes',
    'search_engines',
    'product_changes',
    'parked_documents',
    'indexer_leases',
    'database_identity',
    'has_older_transaction',
  ],
  'API keys': ['api_keys', 'api_key_usage'],
}

/** What the heading of a section says besides its title. */
const explanations: Record<string, string> = {
  Statistics: 'docs/statistics.md explains fold, grain, edition and the other terms (#terms).',
}

const header = `-- The database schema that the migrations make, for reading.
-- Written by \`node scripts/schema.ts\`: do not edit it. docs/data-model.md explains the tables.
-- Left out: Kysely's own tables, objects of extensions, and the grants to the roles of the programs
-- (src/database/role-grants.ts).
`

/**
 * Returns the text of schema.sql for a migrated database. Throws if an object of the database
 * belongs to no section, or a section names an object that does not exist.
 */
export async function describeSchema<DB>(db: Kysely<DB>): Promise<string> {
  const catalogue = await readCatalogue(db)
  const descriptions = describeObjects(catalogue)
  checkSections(new Set(descriptions.keys()))
  const extensions = catalogue.extensions.map((name) => `create extension ${name};`)
  const parts = Object.entries(sections).map(([title, names]) =>
    [describeHeading(title), ...names.flatMap((name) => descriptions.get(name) ?? [])].join('\n\n'),
  )
  return `${[header.trimEnd(), extensions.join('\n'), ...parts].join('\n\n')}\n`
}

function describeHeading(title: string): string {
  const rule = `-- ${'-'.repeat(97)}`
  const explanation = explanations[title]
  return [rule, `-- ${title}`, ...(explanation ? [`-- ${explanation}`] : []), rule].join('\n')
}

/** Returns the SQL of the objects by name. Several functions may share a name. */
function describeObjects({ types, tables, views, functions }: Catalogue): Map<string, string[]> {
  const all: [name: string, text: string][] = [
    ...types.map((type): [string, string] => [type.name, describeType(type)]),
    ...tables.map((table): [string, string] => [table.name, describeTable(table)]),
    ...views.map((view): [string, string] => [view.name, describeView(view)]),
    ...functions.map((sqlFunction): [string, string] => [
      sqlFunction.name,
      describeFunction(sqlFunction),
    ]),
  ]
  const byName = new Map<string, string[]>()
  for (const [name, text] of all)
    byName.set(name, [...(byName.get(name) ?? []), wrapLines(text.trimEnd())])
  return byName
}

/** Throws if the sections do not list exactly the `existing` objects. */
function checkSections(existing: Set<string>): void {
  const listed = Object.values(sections).flat()
  const unlisted = [...existing].filter((name) => !listed.includes(name))
  const missing = listed.filter((name) => !existing.has(name))
  if (unlisted.length > 0 || missing.length > 0)
    throw new Error(
      `scripts/schema/describe-schema.ts: give ${unlisted.join(', ') || 'no object'} a section, ` +
        `and remove ${missing.join(', ') || 'none'}.`,
    )
}

function describeTable(table: Table): string {
  const { name, partitionKey, storageOptions } = table
  const constraints = table.constraints.map(
    (constraint) => `constraint ${constraint.name} ${tidyExpression(constraint.definition)}`,
  )
  const definitions = [...alignColumns(table.columns), ...constraints]
  const partition = partitionKey ? ` partition by ${tidyExpression(partitionKey)}` : ''
  const storage = storageOptions.length > 0 ? ` with (${storageOptions.join(', ')})` : ''
  return [
    ...formatComment(table.comment),
    `create table ${name} (`,
    definitions.map((definition) => `  ${definition}`).join(',\n'),
    `)${partition}${storage};`,
    ...table.partitions.map(
      ({ name: partitionName, bound }) =>
        `create table ${partitionName} partition of ${name} ${tidyExpression(bound)};`,
    ),
    ...[...table.indexes, ...table.triggers].map((definition) => `${tidyExpression(definition)};`),
    ...table.publicGrants.map((privilege) => `grant ${privilege} on ${name} to public;`),
  ].join('\n')
}

/** Returns one line for each column, with names and types aligned. */
function alignColumns(columns: Column[]): string[] {
  const width = (texts: string[]) => Math.max(...texts.map((text) => text.length))
  const nameWidth = width(columns.map(({ name }) => name))
  const typeWidth = width(columns.map(({ type }) => tidyExpression(type)))
  return columns.map((column) => {
    const name = column.name.padEnd(nameWidth)
    const type = tidyExpression(column.type).padEnd(typeWidth)
    return `${name}  ${type}  ${describeConstraints(column)}`.trimEnd()
  })
}

/** Returns what follows name and type: collation, not null, and the default or expression. */
function describeConstraints(column: Column): string {
  const expression = column.expression && tidyExpression(column.expression)
  return [
    column.collation && `collate "${column.collation}"`,
    column.isRequired && 'not null',
    column.isIdentity && 'generated always as identity',
    column.isGenerated && `generated always as (${expression}) stored`,
    !column.isGenerated && expression && `default ${expression}`,
  ]
    .filter(Boolean)
    .join(' ')
}

function describeView({ name, comment, definition }: View): string {
  return [...formatComment(comment), `create view ${name} as`, definition].join('\n')
}

function describeFunction({ signature, comment, definition, isPublic }: SqlFunction): string {
  const revoke = isPublic ? [] : [`revoke execute on function ${signature} from public;`]
  return [...formatComment(comment), `${tidyFunction(definition)};`, ...revoke].join('\n')
}

/** Rewrites what pg_get_functiondef returns. A body in dollar quotes stays as it was written. */
function tidyFunction(definition: string): string {
  const bodyStart = definition.search(/AS \$(function)?\$/)
  const head = bodyStart === -1 ? definition : definition.slice(0, bodyStart)
  const body = bodyStart === -1 ? '' : definition.slice(bodyStart + 'AS '.length).trimEnd()
  const tidyHead = tidyExpression(head.trimEnd()).replace('create or replace', 'create')
  return bodyStart === -1
    ? tidyHead
    : `${tidyHead}\nas ${dedent(body.replaceAll('$function$', '$$$$'))}`
}

/** Moves a text to the left by the indentation of its last line, and removes blank lines. */
function dedent(text: string): string {
  const indent = /\n( *)[^\n]*$/.exec(text)?.[1]?.length ?? 0
  return text
    .split('\n')
    .map((line) => line.slice(Math.min(indent, line.search(/\S|$/))).trimEnd())
    .filter((line) => line !== '')
    .join('\n')
}

function describeType({ name, comment, definition }: OwnType): string {
  return [...formatComment(comment), `create type ${name} as ${definition};`].join('\n')
}

function formatComment(comment: string | null): string[] {
  return comment ? [`-- ${comment}`] : []
}
