// Tables for the catalogue, the customers and the quotes, which an ERP or the main application
// writes. docs/data-model.md explains them.
import { type Kysely, sql } from 'kysely'

/**
 * ISO 4217 (list of 2024-06-25) by minor digits: currencies and funds, without metals, test codes
 * and bond units.
 */
const currenciesByDigits = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP
      BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR
      FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW
      KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN
      NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD
      SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS
      VED VES WST XCD YER ZAR ZMW ZWG`,
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}

/** ISO 3166-1 alpha-2, the 249 officially assigned codes. */
const countries = `
  AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS
  BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE
  EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM
  HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC
  LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
  NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
  SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO
  TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`

/**
 * Characters that a number or SKU may not begin or end with, and that a text may not consist of.
 * The import trims more characters than these.
 */
const blanks = sql.raw("E' \\t\\n\\r'")

function splitCodes(codes: string): string[] {
  return codes.trim().split(/\s+/)
}

function codes(digits: keyof typeof currenciesByDigits) {
  return sql.join(splitCodes(currenciesByDigits[digits]).map((code) => sql.lit(code)))
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function currency_digits(code text) returns integer
    language sql immutable strict parallel safe
    return case when code in (${codes(0)}) then 0
      when code in (${codes(3)}) then 3
      when code in (${codes(4)}) then 4
      else 2 end
  `.execute(db)
  await sql`
    create table currencies (
      code text primary key,
      digits integer not null generated always as (currency_digits(code)) stored
    )
  `.execute(db)
  const currencies = Object.values(currenciesByDigits).flatMap(splitCodes)
  await sql`insert into currencies (code) select unnest(${currencies}::text[])`.execute(db)
  await sql`create table countries (code text primary key)`.execute(db)
  await sql`insert into countries select unnest(${splitCodes(countries)}::text[])`.execute(db)

  // The upper bound in every check of a number also rejects NaN and Infinity, which PostgreSQL
  // sorts above all numbers.
  await sql`
    create table company (
      the_only_row boolean primary key default true check (the_only_row),
      base_currency text not null references currencies,
      time_zone text not null,
      seller jsonb not null
    )
  `.execute(db)

  await sql`
    create table products (
      id bigint generated always as identity primary key,
      sku text not null unique
        check (sku = btrim(sku, ${blanks}) and sku <> '' and length(sku) <= 100),
      name text not null check (btrim(name, ${blanks}) <> '' and length(name) <= 500),
      description text check (length(description) <= 10000),
      category text check (btrim(category, ${blanks}) <> '' and length(category) <= 200),
      brand text check (btrim(brand, ${blanks}) <> '' and length(brand) <= 200),
      unit text check (unit ~ '^[A-Z0-9]{2,3}$'),
      price numeric check (price >= 0 and price < 1e15 and scale(trim_scale(price)) <= 4),
      currency text references currencies,
      hs_code text check (hs_code ~ '^[0-9]{4,12}$'),
      origin_country text references countries,
      active boolean not null default true,
      constraint products_price_has_currency check ((price is null) = (currency is null))
    )
  `.execute(db)

  await sql`
    create table customers (
      id bigint generated always as identity primary key,
      name text not null check (btrim(name, ${blanks}) <> '' and length(name) <= 500),
      tax_id text check (btrim(tax_id, ${blanks}) <> '' and length(tax_id) <= 50),
      address text check (length(address) <= 2000),
      contact_name text check (length(contact_name) <= 500),
      country text references countries,
      constraint customers_identity unique nulls not distinct (name, tax_id, country)
    )
  `.execute(db)

  await sql`
    create table quotes (
      id bigint generated always as identity primary key,
      number text not null
        check (number = btrim(number, ${blanks}) and number <> '' and length(number) <= 64),
      version integer not null default 1 check (version >= 1),
      status text not null
        check (status in ('draft', 'sent', 'accepted', 'rejected', 'expired', 'superseded')),
      customer_id bigint references customers on delete set null,
      customer_name text check (length(customer_name) <= 500),
      customer_tax_id text check (length(customer_tax_id) <= 50),
      customer_address text check (length(customer_address) <= 2000),
      customer_contact text check (length(customer_contact) <= 500),
      country text references countries,
      currency text not null references currencies,
      rate numeric check (rate > 0 and rate < 1e12 and scale(trim_scale(rate)) <= 12),
      issued_on date not null check (issued_on between '1970-01-01' and '9999-12-31'),
      valid_until date check (valid_until <= '9999-12-31'),
      decided_on date check (decided_on <= '9999-12-31'),
      incoterm text check (incoterm in (
        'EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR', 'CIF'
      )),
      incoterm_place text check (length(incoterm_place) <= 200),
      delivery text check (length(delivery) <= 2000),
      payment_terms text check (length(payment_terms) <= 2000),
      language text check (language in ('es', 'en')),
      notes text check (length(notes) <= 10000),
      internal_notes text check (length(internal_notes) <= 10000),
      net numeric not null default 0 check (net >= 0 and net < 1e30),
      tax numeric not null default 0 check (tax >= 0 and tax < 1e30),
      gross numeric not null default 0,
      constraint quotes_number_version unique (number, version),
      constraint quotes_valid_after_issue check (valid_until >= issued_on),
      constraint quotes_decided_after_issue check (decided_on >= issued_on),
      constraint quotes_decision_has_status
        check (decided_on is null or status in ('accepted', 'rejected', 'superseded')),
      constraint quotes_place_has_incoterm
        check (incoterm_place is null or incoterm is not null),
      constraint quotes_gross_is_net_and_tax check (gross = net + tax),
      constraint quotes_amounts_have_currency_digits check (
        greatest(scale(trim_scale(net)), scale(trim_scale(tax))) <= currency_digits(currency)
      )
    )
  `.execute(db)
  await sql`create index quotes_issued_on on quotes (issued_on)`.execute(db)
  await sql`
    create index quotes_customer on quotes (customer_id) where customer_id is not null
  `.execute(db)

  await sql`
    create table quote_lines (
      quote_id bigint not null references quotes on delete cascade,
      position integer not null check (position >= 1),
      sku text check (length(sku) <= 100),
      description text not null
        check (btrim(description, ${blanks}) <> '' and length(description) <= 10000),
      quantity numeric not null
        check (quantity > 0 and quantity < 1e12 and scale(trim_scale(quantity)) <= 6),
      unit text check (unit ~ '^[A-Z0-9]{2,3}$'),
      unit_price numeric not null
        check (unit_price >= 0 and unit_price < 1e15 and scale(trim_scale(unit_price)) <= 4),
      discount_percent numeric not null default 0 check (
        discount_percent between 0 and 100 and scale(trim_scale(discount_percent)) <= 4
      ),
      tax_rate numeric check (tax_rate between 0 and 100 and scale(trim_scale(tax_rate)) <= 4),
      surcharge_rate numeric
        check (surcharge_rate between 0 and 100 and scale(trim_scale(surcharge_rate)) <= 4),
      hs_code text check (hs_code ~ '^[0-9]{4,12}$'),
      origin_country text references countries,
      net numeric not null check (net >= 0 and net < 1e27 and scale(trim_scale(net)) <= 4),
      primary key (quote_id, position),
      constraint quote_lines_surcharge_has_tax
        check (surcharge_rate is null or tax_rate is not null)
    )
  `.execute(db)

  // One definition of the arithmetic, for the import, for links and for every writer. round() on
  // numeric rounds half away from zero, which is half up because nothing is negative. Multiplying
  // by 0.01 is exact; a division by 100 would be truncated before it is rounded.
  await sql`
    create function line_net(
      quantity numeric, unit_price numeric, discount_percent numeric, digits integer
    ) returns numeric
    language sql immutable parallel safe
    return round(quantity * unit_price * (100 - discount_percent) * 0.01, digits)
  `.execute(db)
  await sql`
    create function quote_totals(
      wanted_quote_id bigint, out net numeric, out tax numeric, out gross numeric
    )
    language sql stable parallel safe
    begin atomic
      with taxes as (
        select sum(line_net(l.quantity, l.unit_price, l.discount_percent, c.digits)) as base,
          l.tax_rate, l.surcharge_rate, c.digits
        from quote_lines l
        join quotes q on q.id = l.quote_id
        join currencies c on c.code = q.currency
        where l.quote_id = wanted_quote_id
        group by l.tax_rate, l.surcharge_rate, c.digits
      ), sums as (
        select coalesce(sum(base), 0) as net,
          coalesce(sum(
            round(base * coalesce(tax_rate, 0) * 0.01, digits)
            + round(base * coalesce(surcharge_rate, 0) * 0.01, digits)
          ), 0) as tax
        from taxes
      )
      select sums.net, sums.tax, sums.net + sums.tax from sums;
    end
  `.execute(db)

  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  ['table currencies', 'ISO 4217 currencies and their minor digits (JPY 0, EUR 2, KWD 3).'],
  [
    'column currencies.code',
    'Alphabetic code, such as EUR. Only money: no metals, bond units or test codes.',
  ],
  ['column currencies.digits', 'Decimals of an amount. See the function currency_digits.'],
  ['table countries', 'ISO 3166-1 countries.'],
  ['column countries.code', 'Alpha-2 code, such as ES.'],
  [
    'table company',
    'The seller, one row. Written by scripts/migrate.ts from the configured company file.',
  ],
  ['column company.the_only_row', 'Always true: there is one company.'],
  [
    'column company.base_currency',
    'The currency that figures are given in. Set once: the service refuses to start with another.',
  ],
  [
    'column company.time_zone',
    "IANA name. Dates are this zone's calendar days. Set once, like base_currency.",
  ],
  ['column company.seller', 'The seller block as it is frozen into new quote links.'],
  [
    'table products',
    'The catalogue. Any writer may change it: triggers carry each change to the search index.',
  ],
  ['column products.id', 'Ours; stays the same when the SKU changes.'],
  ['column products.sku', 'Stock keeping unit, unique as written: AB-1 and ab1 are two products.'],
  ['column products.name', 'What the product is called.'],
  ['column products.description', 'More about the product; null: nothing more to say.'],
  ['column products.category', 'Category to filter by; null: none.'],
  ['column products.brand', 'Brand to filter by; null: none.'],
  ['column products.unit', 'UN/ECE Recommendation 20 code, such as C62 (piece), KGM, MTR.'],
  ['column products.price', 'List price for one unit, up to 4 decimals; null: on request.'],
  ['column products.currency', 'Currency of price; null where price is null.'],
  ['column products.hs_code', 'Harmonised System code, digits only, 4 to 12 of them.'],
  ['column products.origin_country', 'Country of origin; null: not known.'],
  ['column products.active', 'Only active products are found.'],
  [
    'table customers',
    'Customers known to the company. A quote keeps its own copy of what it was addressed to.',
  ],
  ['column customers.id', 'Ours.'],
  ['column customers.name', 'Legal name. Name, tax id and country together are unique.'],
  ['column customers.tax_id', 'Tax number as written on documents; null: not known.'],
  ['column customers.address', 'Postal address, with line breaks; null: not known.'],
  ['column customers.contact_name', 'Whom a quote is addressed to there; null: nobody by name.'],
  ['column customers.country', 'Country of the customer; null: not known.'],
  ['table quotes', 'Quotes, one row per version of a number.'],
  ['column quotes.id', 'Ours; never shown outside.'],
  ['column quotes.number', 'The number of the quote, as written on it. Its versions share it.'],
  ['column quotes.version', '1 for the first; a newer version makes the older ones superseded.'],
  [
    'column quotes.status',
    'draft: not sent, invisible outside; sent; accepted; rejected; expired; superseded: ' +
      'replaced by a newer version. A sent quote past valid_until counts as expired by itself.',
  ],
  [
    'column quotes.customer_id',
    'The customer, if known. The customer_… columns say what the quote was addressed to.',
  ],
  ['column quotes.customer_name', "The buyer's name on the quote."],
  ['column quotes.customer_tax_id', "The buyer's tax number on the quote."],
  ['column quotes.customer_address', "The buyer's postal address on the quote, with line breaks."],
  ['column quotes.customer_contact', 'The person whom the quote is addressed to.'],
  ['column quotes.country', "The buyer's country, null for unknown."],
  ['column quotes.currency', 'Currency of every amount of the quote and its lines.'],
  [
    'column quotes.rate',
    'Base currency units per one unit of the quote’s currency; null: not known, and then the ' +
      'quote is in no base figure. 1 for a quote in the base currency.',
  ],
  ['column quotes.issued_on', "Day of issue, in the company's calendar."],
  ['column quotes.valid_until', 'Last day on which the quote stands; null: without limit.'],
  [
    'column quotes.decided_on',
    'Day on which the customer accepted or rejected; null: not known, and the day of issue counts.',
  ],
  ['column quotes.incoterm', 'Incoterms 2020 rule, with its place in incoterm_place.'],
  ['column quotes.incoterm_place', 'Named place of the Incoterm; only with one.'],
  ['column quotes.delivery', 'When and how delivery is made, in words.'],
  ['column quotes.payment_terms', 'How and when payment is due, in words.'],
  ['column quotes.language', 'Language of the quote; null: the language of the company.'],
  ['column quotes.notes', 'Notes for the customer.'],
  ['column quotes.internal_notes', 'Never leaves the company: in no document, answer or log.'],
  [
    'column quotes.net',
    'Sum of the line nets; what figures are made from. See the function quote_totals.',
  ],
  ['column quotes.tax', 'Taxes and surcharges by rate over the sum of their lines.'],
  ['column quotes.gross', 'net + tax.'],
  ['table quote_lines', 'The lines of a quote.'],
  ['column quote_lines.quote_id', 'The quote, one version of a number.'],
  ['column quote_lines.position', 'Place of the line in the quote, from 1; gaps are allowed.'],
  ['column quote_lines.sku', 'Free text, usually the SKU of a product.'],
  ['column quote_lines.description', 'What is offered, as the customer reads it.'],
  ['column quote_lines.quantity', 'How many units, above zero, up to 6 decimals.'],
  ['column quote_lines.unit', 'UN/ECE Recommendation 20 code of the unit; null: not stated.'],
  ['column quote_lines.unit_price', 'Price of one unit before discount, up to 4 decimals.'],
  ['column quote_lines.discount_percent', 'Percent of the price taken off, 0 to 100.'],
  [
    'column quote_lines.tax_rate',
    'Tax in percent of the net, such as 21; 0: exempt or zero-rated; null: no tax stated.',
  ],
  [
    'column quote_lines.surcharge_rate',
    'Spanish recargo de equivalencia in percent of the net, such as 5.2; only with a tax_rate.',
  ],
  [
    'column quote_lines.hs_code',
    'Harmonised System code, digits only, 4 to 12 of them; null: not stated.',
  ],
  ['column quote_lines.origin_country', 'Country of origin of the goods; null: not stated.'],
  [
    'column quote_lines.net',
    'line_net(quantity, unit_price, discount_percent, digits of the currency): rounded half up.',
  ],
  ['function currency_digits', 'ISO 4217 minor digits of a currency in the table currencies.'],
  [
    'function line_net',
    'Quantity × unit price less discount, rounded half up to the digits of the currency.',
  ],
  [
    'function quote_totals',
    'What net, tax and gross of a quote should be, computed from its lines: tax by rate over ' +
      'the sum of its lines.',
  ],
]
