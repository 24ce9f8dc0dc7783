// Allows Portuguese, French, Italian and German besides Spanish and English as the language of a
// quote. quote_languages() is the list that the table and create_quote_share follow.
import { type Kysely, sql } from 'kysely'

const signature = 'create_quote_share(text, integer, bytea, timestamptz, text)'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function quote_languages() returns text[] language sql immutable parallel safe
    return array['es', 'en', 'pt', 'fr', 'it', 'de']
  `.execute(db)
  await sql`
    alter table quotes drop constraint quotes_language_check,
      add constraint quotes_language_check check (language = any (quote_languages())) not valid
  `.execute(db)
  await sql`alter table quotes validate constraint quotes_language_check`.execute(db)
  await sql`
    do $$
    declare
      definition text := pg_get_functiondef(${sql.lit(signature)}::regprocedure);
    begin
      definition := replace(definition, $a$language not in ('es', 'en')$a$,
        $b$language <> all (quote_languages())$b$);
      definition := replace(definition,
        $a$'language must be es or en, not %', language using$a$,
        $b$'language must be one of %, not %', array_to_string(quote_languages(), ', '), language
          using$b$);
      if strpos(definition, 'quote_languages()') = 0 then
        raise exception 'create_quote_share does not check the language as expected';
      end if;
      execute definition;
    end $$
  `.execute(db)
  await sql`
    comment on function quote_languages() is 'The languages that a quote may have, as ISO 639-1.'
  `.execute(db)
}
