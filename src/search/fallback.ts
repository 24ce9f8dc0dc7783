// Search in PostgreSQL, for when the engine is slow or down: the same shape, plainer relevance (trigrams).
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { unitPrice } from '../money.ts'
import { codeKey } from './product-index.ts'
import { type Facets, type Found, type Hit, maxTotal, type SearchRequest } from './schema.ts'

/** Searches the products table. Throws when PostgreSQL does not answer. */
export async function searchDatabase(db: Kysely<Tables>, request: SearchRequest): Promise<Found> {
  const matches = matching(db, request)
  const key = codeKey(request.text)
  const [rows, { total }, facets] = await Promise.all([
    matches
      .leftJoin('product_popularity as popularity', 'popularity.product_id', 'products.id')
      .select(['products.id', 'sku', 'name', 'description', 'category', 'brand', 'unit', 'price', 'currency', 'hs_code', 'origin_country'])
      .orderBy(sql`sku = ${request.text} desc, sku_key = ${key} desc`)
      .$if(request.text !== '', (query) => query.orderBy(sql`word_similarity(fold_text(${request.text}), search_text) desc`))
      .orderBy(sql`popularity.times_quoted desc nulls last`)
      .orderBy('name')
      .orderBy('products.id')
      .limit(request.limit)
      .offset(request.offset)
      .execute(),
    db
      .selectFrom(matches.select('products.id').limit(maxTotal).as('matches'))
      .select(sql<number>`count(*)::int`.as('total'))
      .executeTakeFirstOrThrow(),
    countFacets(matches, request.facets),
  ])
  return { hits: rows.map(toHit), total, facets }
}

type Matches = SelectQueryBuilder<Tables, 'products', object>

function matching(db: Kysely<Tables>, { text, category, brand }: SearchRequest): Matches {
  const key = codeKey(text)
  let query: Matches = db.selectFrom('products').where('active', '=', true)
  if (category !== undefined) query = query.where('category', '=', category)
  if (brand !== undefined) query = query.where('brand', '=', brand)
  if (text === '') return query
  return query.where(({ or, eb }) =>
    or([
      sql<boolean>`fold_text(${text}) <% search_text`,
      // Codes by any part of them. The key holds letters and digits only, so nothing in it is a wildcard.
      ...(key.length >= 3 ? [eb('sku_key', 'like', `%${key}%`)] : [eb('sku_key', '=', key)]),
    ]),
  )
}

async function countFacets(matches: Matches, names: SearchRequest['facets']): Promise<Facets> {
  const counted = names.map(async (name) => {
    const rows = await matches
      .where(name, 'is not', null)
      .select([name, sql<number>`count(*)::int`.as('count')])
      .groupBy(name)
      .orderBy('count', 'desc')
      .limit(100)
      .execute()
    return [name, Object.fromEntries(rows.map((row) => [row[name], row.count]))]
  })
  return Object.fromEntries(await Promise.all(counted))
}

type Row = Pick<
  { [Column in keyof Tables['products']]: string | null },
  'description' | 'category' | 'brand' | 'unit' | 'price' | 'currency' | 'hs_code' | 'origin_country'
> & { id: string; sku: string; name: string }

function toHit({ price, currency, hs_code, origin_country, ...row }: Row): Hit {
  return {
    ...row,
    price: price !== null && currency !== null ? unitPrice(price, currency) : null,
    hsCode: hs_code,
    originCountry: origin_country,
    highlights: {},
  }
}
