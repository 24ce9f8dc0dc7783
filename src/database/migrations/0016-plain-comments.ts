// Words the comments on tables, columns and functions in plain English. Nothing else changes.
import { type Kysely, sql } from 'kysely'

const comments = {
  'table company': 'The seller, in one row. scripts/migrate.ts writes it from the company file.',
  'column company.base_currency':
    'Currency of the statistics. It cannot change: the service does not start with another one.',
  'column company.seller': 'Seller block that new quote links freeze.',
  'column company.the_only_row': 'Always true, so that only one row can exist.',
  'column company.time_zone':
    'IANA name. Dates are calendar days in this zone. It cannot change, like base_currency.',
  'column currencies.code':
    'Alphabetic code, for example EUR. No metals, bond units or test codes.',
  'column customers.contact_name': 'Contact person on quotes. Null: none.',
  'column customers.id': 'Internal id.',
  'column products.id': 'Internal id. It stays the same when the SKU changes.',
  'column products.name': 'Name of the product.',
  'column products.description': 'Longer description. Null: none.',
  'column products.category': 'Category to filter by. Null: none.',
  'column products.brand': 'Brand to filter by. Null: none.',
  'column products.active': 'Search returns active products only.',
  'column products.search_text': 'Folded text, for search in PostgreSQL.',
  'table products':
    'The catalogue. Any writer may change it. Triggers queue each change for the search index.',
  'table product_popularity':
    'Number of quotes with a product in the 12 months up to the latest quote. The indexer ' +
    'updates it.',
  'column product_popularity.product_id': 'A quoted product. Other products have no row.',
  'column product_popularity.rank': 'Rank among the 100 most quoted products.',
  'column product_popularity.step':
    'times_quoted in coarse steps: 1 + floor(log2(times)), at most 9. The index holds this value.',
  'column product_popularity.times_quoted': 'Number of quotes that contain the product.',
  'table customers': 'Customers of the company. A quote keeps its own copy of the customer data.',
  'table quotes': 'Quotes, with one row for each version of a number.',
  'column quotes.id': 'Internal id. It is never shown outside.',
  'column quotes.number': 'Number of the quote. All versions share it.',
  'column quotes.version': '1 for the first version. A newer version supersedes the older ones.',
  'column quotes.country': 'Country of the buyer. Null: unknown.',
  'column quotes.customer_id':
    'The customer, if known. The customer_… columns are the copy on the quote.',
  'column quotes.customer_contact': 'Contact person on the quote.',
  'column quotes.decided_on':
    'Day on which the customer accepted or rejected. Null: unknown; issued_on counts instead.',
  'column quotes.valid_until': 'Last day of validity. Null: unlimited.',
  'column quotes.rate':
    'Base currency units for one unit of the currency of the quote. 1 for the base currency. ' +
    'Null: unknown; the quote is in no amount in the base currency.',
  'column quotes.net': 'Sum of the line nets. Statistics use it. See the function quote_totals.',
  'column quotes.delivery': 'Delivery terms as text.',
  'column quotes.payment_terms': 'Payment terms as text.',
  'column quotes.internal_notes': 'For the company only: in no document, response or log.',
  'column quote_lines.description': 'Text of the line for the customer.',
  'column quote_lines.position': 'Position of the line in the quote, from 1. Gaps are allowed.',
  'column quote_lines.quantity': 'Number of units, above zero, with up to 6 decimals.',
  'column quote_lines.discount_percent': 'Discount in percent of the price, 0 to 100.',
  'function quote_totals(bigint)':
    'Computes net, tax and gross of a quote. The tax at a rate is computed on the sum of the ' +
    'lines with this rate.',
  'function line_net(numeric, numeric, numeric, integer)':
    'Returns quantity × unit price less discount, rounded half up to the digits of the currency.',
  'function currency_digits(text)': 'Returns the ISO 4217 minor digits of a currency.',
  'table quote_shares': 'Links to quotes. The token itself is not stored.',
  'column quote_shares.document':
    'The document that the link shows, frozen on creation, as RFC 8785 canonical JSON.',
  'column quote_shares.created_at': 'Time of creation.',
  'column quote_shares.expires_at': 'Time from which the link is expired. Null: never.',
  'column quote_shares.id': 'Id that scripts/share.ts list shows and revoke expects.',
  'column quote_shares.quote_id': 'The version of the quote.',
  'column quote_shares.revoked_at': 'Time of revocation. Null: not revoked.',
  'table quote_share_views':
    'One row for each time a link was opened, if COUNT_VIEWS is on. No data about the visitor.',
  'column quote_share_views.viewed_at': 'Time of the view.',
  'function create_quote_share(text, integer, bytea, timestamptz, text)':
    'Freezes the document of a quote under the hash of a token that the caller generated. ' +
    'Without a version it takes the newest. Errors: TQ404 unknown quote, TQ409 quote that cannot ' +
    'be shared.',
  'table quote_deltas':
    'Signed changes of the statistics that are not folded yet. Triggers on quotes append them in ' +
    'the transaction of the writer. Nothing else writes here.',
  'column quote_deltas.id': 'Order of writing, which can differ from the order of commits.',
  'column quote_deltas.date_kind':
    'issued: by day of issue. accepted: accepted quotes only, by day of decision, else of issue.',
  'column quote_deltas.day': 'Day on which the quotes count.',
  'column quote_deltas.country':
    'Country of the buyer. Empty: unknown, because keys cannot be null.',
  'column quote_deltas.currency': 'Currency of the quotes.',
  'column quote_deltas.created_at': 'Start of the transaction that appended the row.',
  'column quote_deltas.valid_until': 'Last day of validity, for sent quotes only.',
  'table quote_figures':
    'Statistics by day and by month, without the changes in quote_deltas. Both grains contain ' +
    'every quote.',
  'column quote_figures.starts_on': 'The day, or the first day of the month.',
  'table quote_figures_days': 'Partition of quote_figures with the days.',
  'table quote_figures_months': 'Partition of quote_figures with the months.',
  'table quote_validity':
    'Number of sent quotes by day and month of issue, and by day and month of the end of their ' +
    'validity. It tells how many sent quotes have expired.',
  'column quote_validity.quotes': 'Number of quotes.',
  'column quote_validity.valid_from':
    'Last day of validity, or the first day of its month. infinity: unlimited.',
  'table quote_summary':
    'Version of the summary. generation, and folded plus the number of rows in quote_deltas, ' +
    'change with every commit that changes the statistics.',
  'column quote_summary.folded': 'Number of changes folded in this generation.',
  'column quote_summary.generation': 'Changes with each rebuild and each truncate of quotes.',
  'column quote_summary.the_only_row': 'Always true, so that only one row can exist.',
  'function fold_quote_deltas(integer)':
    'Folds up to this number of changes into the summary and returns how many. Returns 0 if ' +
    'there are none or if another process is folding.',
  'function rebuild_quote_summary()':
    'Rebuilds the summary from the quotes. Writers and readers are not blocked.',
  'table search_engines':
    'The search engines that indexers keep in sync. Each has its own rows in product_changes.',
  'column search_engines.indexed_at': 'The index contains every change committed before this time.',
  'column search_engines.last_task':
    'Last task of the engine that is known to have succeeded. An engine without this task was ' +
    'restored from an older state.',
  'column search_engines.rebuild_asked_at': 'Time at which a rebuild was requested. Null: none.',
  'column search_engines.shape':
    'Hash of the index settings and of the document format. Another hash leads to a rebuild.',
  'column search_engines.version':
    'Changes with the contents of the index. Cached answers of other versions are not used.',
  'table product_changes':
    'Outbox: changed products that the index of an engine does not contain yet. Triggers write ' +
    'it and the indexer deletes the rows.',
  'column product_changes.id': 'Order of writing, which can differ from the order of commits.',
  'column product_changes.product_id': 'The product. Null: all products, after a truncate.',
  'table parked_documents':
    'Dead letters: products whose document an engine rejected. A change of the product tries ' +
    'again.',
  'column parked_documents.parked_at': 'Time of the last rejection.',
  'column parked_documents.reason': 'Error message of the engine.',
  'table indexer_leases':
    'The indexer that works on an engine. One indexer holds the lease, and the others stand by.',
  'column indexer_leases.engine': 'Name of the engine.',
  'column indexer_leases.fence':
    'Fencing token. Each takeover increments it, and an indexer with a lower one has lost the ' +
    'lease.',
  'column indexer_leases.held_until': 'Time from which another indexer may take over.',
  'column indexer_leases.holder': 'Host and process of the indexer. Null: none.',
  'function has_older_transaction(xid8)':
    'Returns whether a transaction is still running that began before this one.',
  'table api_keys':
    'API keys of callers. A key is tqs_<id>_<secret> (secret) or tqp_<id>_<secret> (publishable).',
  'column api_keys.created_at': 'Time of creation.',
  'column api_keys.expires_at': 'Time from which the key is invalid. Null: never.',
  'column api_keys.last_used_at': 'Time of the last use, to about a minute. Null: never used.',
  'column api_keys.limit_factor': 'Multiplies the configured rate limits. Null: 1.',
  'column api_keys.name': 'Owner of the key, for people.',
  'column api_keys.revoked_at': 'Time of revocation. Null: not revoked.',
  'column api_keys.scopes': 'Scopes of the key. A scope never includes another.',
  'column api_keys.secret_hash': 'SHA-256 of the whole key.',
  'column api_keys.unlimited': 'true: no rate limits.',
}

const measures = {
  drafts: 'Drafts.',
  sent: 'Sent quotes, including expired ones: see quote_validity.',
  accepted: 'Accepted quotes.',
  rejected: 'Rejected quotes.',
  expired: 'Quotes with the status expired.',
  net: 'Net of accepted quotes, in their own currency.',
  base_net:
    'Net of accepted quotes with a rate, in the base currency. Each quote is rounded half up ' +
    'before it is summed.',
  unconverted: 'Accepted quotes without a rate. They are in net, not in base_net.',
  unconverted_net: 'Net of the unconverted quotes, in their own currency.',
}

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [object, comment] of Object.entries(comments)) await setComment(db, object, comment)
  for (const [name, comment] of Object.entries(measures)) {
    await setComment(db, `column quote_figures.${name}`, comment)
    await setComment(db, `column quote_deltas.${name}`, `Change of: ${comment}`)
  }
}

async function setComment(db: Kysely<unknown>, object: string, comment: string): Promise<void> {
  await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}
