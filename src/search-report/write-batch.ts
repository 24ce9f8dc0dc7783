// Writes counts to PostgreSQL: hashes first, and a text only when five callers have searched for
// it.
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { type Batch, type CountedText, requiredCallers } from './count-batch.ts'

/** Further texts are counted, but their text is not kept. */
const maxKeptTexts = 20_000

type StoredText = { id: string; kind: string; textHash: string; isDue: boolean }

/** Adds the counts to those of the day (UTC, YYYY-MM-DD). */
export async function writeBatch(db: Kysely<Tables>, batch: Batch, day: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await addToDay(transaction, batch, day)
    if (batch.texts.length === 0) return
    const stored = await storeTexts(transaction, batch.texts, day)
    await addToTexts(transaction, batch.texts, stored, day)
    const due = stored.filter(({ isDue }) => isDue)
    if (due.length > 0) await keepTexts(transaction, batch.texts, due)
  })
}

async function addToDay(
  transaction: Transaction<Tables>,
  { searches, withoutResult }: Batch,
  day: string,
): Promise<void> {
  await transaction
    .insertInto('search_report_days')
    .values({ day, searches, without_result: withoutResult })
    .onConflict((conflict) =>
      conflict.column('day').doUpdateSet({
        searches: sql`search_report_days.searches + excluded.searches`,
        without_result: sql`search_report_days.without_result + excluded.without_result`,
      }),
    )
    .execute()
}

/** Adds the hashes of texts and callers, in order of hash, so two processes cannot deadlock. */
async function storeTexts(
  transaction: Transaction<Tables>,
  texts: CountedText[],
  day: string,
): Promise<StoredText[]> {
  const rows = texts.map(({ kind, textHash, callers }) => ({
    kind,
    text_hash: `\\x${textHash}`,
    callers: `{${[...callers].map((caller) => `"\\\\x${caller}"`).join(',')}}`,
  }))
  const result = await sql<StoredText>`
    insert into search_report_texts as stored (kind, text_hash, callers, last_day)
    select kind, text_hash, callers, ${day}::date
    from json_to_recordset(${JSON.stringify(rows)}::json)
      as added (kind text, text_hash bytea, callers bytea[])
    order by kind, text_hash
    on conflict (kind, text_hash) do update set
      last_day = greatest(stored.last_day, excluded.last_day),
      callers = case when stored.text is not null then '{}' else array(
        select distinct caller from unnest(stored.callers || excluded.callers) as caller
        limit ${sql.lit(requiredCallers)}
      ) end
    returning id::text, kind, encode(text_hash, 'hex') as "textHash",
      text is null and cardinality(callers) >= ${sql.lit(requiredCallers)} as "isDue"
  `.execute(transaction)
  return result.rows
}

async function addToTexts(
  transaction: Transaction<Tables>,
  texts: CountedText[],
  stored: StoredText[],
  day: string,
): Promise<void> {
  const idOf = new Map(stored.map(({ id, kind, textHash }) => [`${kind} ${textHash}`, id]))
  const rows = texts.map(({ kind, textHash, searches, withoutResult }) => ({
    text_id: idOf.get(`${kind} ${textHash}`),
    searches,
    without_result: withoutResult,
  }))
  await sql`
    insert into search_report_counts as counts (day, text_id, searches, without_result)
    select ${day}::date, text_id, searches, without_result
    from json_to_recordset(${JSON.stringify(rows)}::json)
      as added (text_id bigint, searches bigint, without_result bigint)
    order by text_id
    on conflict (day, text_id) do update set
      searches = counts.searches + excluded.searches,
      without_result = counts.without_result + excluded.without_result
  `.execute(transaction)
}

/** From here on the text itself is in PostgreSQL, and the hashes of its callers are not. */
async function keepTexts(
  transaction: Transaction<Tables>,
  texts: CountedText[],
  due: StoredText[],
): Promise<void> {
  const rows = due.flatMap(({ id, kind, textHash }) => {
    const counted = texts.find((text) => text.kind === kind && text.textHash === textHash)
    return counted ? [{ id, text: counted.text }] : []
  })
  await sql`
    update search_report_texts as stored set text = due.text, callers = '{}'
    from json_to_recordset(${JSON.stringify(rows)}::json) as due (id bigint, text text)
    where stored.id = due.id
      and (select count(*) from search_report_texts where text is not null) < ${maxKeptTexts}
  `.execute(transaction)
}
