// Keeps the languages and their words for taxes in a table, which scripts/migrate.ts fills from the
// files of texts. They were in functions, so a new language needed a migration.
import { type Kysely, sql } from 'kysely'

const run = (db: Kysely<unknown>, text: string) => sql.raw(text).execute(db)

export async function up(db: Kysely<unknown>): Promise<void> {
  await run(
    db,
    `create table languages (
      code text primary key check (code ~ '^[a-z]{2}$'),
      place integer not null,
      vat_label text not null,
      sales_tax_label text not null
    )`,
  )
  // Those that a quote may have before scripts/migrate.ts fills the table for the first time.
  await run(
    db,
    `insert into languages (code, place, vat_label, sales_tax_label) values
      ('es', 1, 'IVA', 'Impuesto'), ('en', 2, 'VAT', 'Sales tax'), ('pt', 3, 'IVA', 'Imposto'),
      ('fr', 4, 'TVA', 'Taxe'), ('it', 5, 'IVA', 'Imposta'), ('de', 6, 'USt.', 'Steuer')`,
  )
  await run(
    db,
    `alter table quotes drop constraint quotes_language_check,
      add constraint quotes_language_fkey foreign key (language) references languages not valid`,
  )
  await run(db, 'alter table quotes validate constraint quotes_language_fkey')
  await run(
    db,
    `create or replace function quote_languages() returns text[]
      language sql stable parallel safe
      return array(select code from languages order by place)`,
  )
  await run(
    db,
    `create or replace function default_tax_label(language text, country text) returns text
      language sql stable parallel safe
      return case
        when country = 'PE' then 'IGV'
        when country = 'DO' then 'ITBIS'
        when country = 'PA' then 'ITBMS'
        when country = 'HN' then 'ISV'
        when country in ('AU', 'CA', 'IN', 'NZ', 'SG') then 'GST'
        else coalesce((
          select case when country = 'US' then l.sales_tax_label else l.vat_label end
          from languages l where l.code = language
        ), 'VAT') end`,
  )
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments = {
  'table languages':
    'The languages that a quote may have. scripts/migrate.ts fills it from the files of texts.',
  'column languages.code': 'ISO 639-1, in lower case.',
  'column languages.place': 'The order in which the languages are listed.',
  'column languages.vat_label': 'The name of value added tax in the language.',
  'column languages.sales_tax_label': 'The name of a tax that is no value added tax.',
}
