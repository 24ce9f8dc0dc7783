// The dead-letter table: documents that the engine rejected, parked until their product changes.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { countNoun } from '../../text/count-noun.ts'
import type { LeasedTransaction } from '../lease/indexer-lease.ts'
import type { Rejection } from './document-upload.ts'

const maxListedParked = 10

export type ParkedDocument = {
  productId: string
  /** Null if the product has been deleted. */
  sku: string | null
  reason: string
  parkedAt: Date
}

export async function parkDocuments(
  transaction: LeasedTransaction,
  outboxName: string,
  rejections: Rejection[],
): Promise<void> {
  if (rejections.length === 0) return
  const ids = rejections.map(({ id }) => id)
  const reasons = rejections.map(({ reason }) => reason)
  await sql`
    insert into index_parked_documents (registration_name, product_id, reason)
    select ${outboxName}, * from unnest(${ids}::bigint[], ${reasons}::text[])
    on conflict (registration_name, product_id)
      do update set reason = excluded.reason, parked_at = excluded.parked_at
  `.execute(transaction)
}

/** Logs how many documents were parked. Not why: a reason of the engine may quote a product. */
export function logParked(rejections: Rejection[], log: LogLine): void {
  const [first] = rejections
  if (!first) return
  const documents = countNoun(rejections.length, 'document')
  log(
    `Parked ${documents} that the search engine rejected. The first is product ${first.id}. ` +
      '`scripts/indexer.ts status` says why.',
    'warn',
  )
}

export async function unparkDocuments(
  transaction: LeasedTransaction,
  outboxName: string,
  productIds: string[],
): Promise<void> {
  await sql`
    delete from index_parked_documents
    where registration_name = ${outboxName} and product_id = any(${productIds}::bigint[])
  `.execute(transaction)
}

/** Replaces the parked documents of the live index by those of the index that replaces it. */
export async function moveParkedDocuments(
  transaction: LeasedTransaction,
  names: { from: string; to: string },
): Promise<void> {
  await deleteParkedDocuments(transaction, names.to)
  await transaction
    .updateTable('index_parked_documents')
    .set({ registration_name: names.to })
    .where('registration_name', '=', names.from)
    .execute()
}

export async function deleteParkedDocuments(
  transaction: LeasedTransaction,
  outboxName: string,
): Promise<void> {
  await transaction
    .deleteFrom('index_parked_documents')
    .where('registration_name', '=', outboxName)
    .execute()
}

/** Returns the ten documents of this index that were parked first. */
export async function listOldestParked(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<ParkedDocument[]> {
  return db
    .selectFrom('index_parked_documents')
    .leftJoin('products', 'products.id', 'index_parked_documents.product_id')
    .select([
      'index_parked_documents.product_id as productId',
      'sku',
      'reason',
      'parked_at as parkedAt',
    ])
    .where('registration_name', '=', registrationName)
    .orderBy('parked_at')
    .limit(maxListedParked)
    .execute()
}
