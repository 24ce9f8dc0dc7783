// Generates any number of products for measuring the index. Always the same for the same number.
import { sql } from 'kysely'
import type { Database } from '../../../src/database/postgres-pool.ts'

/**
 * Inserts products with names of 20,000 words, some far more common than others. Always the same.
 */
export async function insertGeneratedProducts(db: Database, count: number): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`select setseed(0.42)`.execute(connection)
    await sql`
      create temporary table words as
      select n as place,
        translate(substr(md5(n::text), 1, 4 + n % 6), '0123456789', 'aeioulnrst') as word
      from generate_series(0, 19999) n
    `.execute(connection)
    await sql`create unique index on words (place)`.execute(connection)
    await sql`
      insert into products (sku, name, description, category, brand, unit, price, currency,
        hs_code, origin_country)
      select chr(65 + n % 26) || chr(65 + n / 26 % 26) || '-' || (100000 + n) || '-X',
        string_agg(word, ' ') filter (where k <= 4) || ' ' || n % 500 || ' mm',
        string_agg(word, ' ') filter (where k > 4), 'Categoría ' || n % 400,
        'Marca ' || n % 900, 'C62', (n % 9999)::numeric / 100, 'EUR',
        (100000 + n % 800000)::text, 'ES'
      from (
          select i as n, k, floor(20000 * random() ^ 3)::int as drawn
          from generate_series(1, ${sql.lit(count)}) i, generate_series(1, 10) k
        ) d
        join words on words.place = d.drawn
      group by n
    `.execute(connection)
  })
  await sql`analyze products`.execute(db)
}
