// The English texts of the pages, the PDF and the palette.

// British English writes unambiguous dates ("1 March 2026") and "US$" for the US dollar.
export const locale = 'en-GB'
export const name = 'English'

/** The quote page, its error pages and the PDF. */
export const quotes = {
  quote: 'Quotation',
  /** The label of the links to the page in other languages. */
  language: 'Language',
  version: 'Version',
  /** Shown beside the number of a later version. Nobody knows which versions were sent before. */
  replaces: 'Replaces earlier versions',
  issuedOn: 'Date',
  validUntil: 'Valid until',
  /** The first day of a month, if it is not written as the number 1 that Intl writes. */
  firstOfMonth: null as string | null,
  total: 'Total',
  viewPdf: 'View as PDF',
  status: {
    accepted: {
      label: 'Accepted',
      explanation:
        'This quotation has been accepted. Thank you for your trust. If you have a question, ' +
        'contact us.',
    },
    rejected: {
      label: 'Rejected',
      explanation:
        'This quotation is recorded as rejected. If you have changed your mind, ask us for an ' +
        'updated one.',
    },
    expired: {
      label: 'Expired',
      explanation: 'If you are still interested, ask us for an updated one.',
    },
    withdrawn: {
      label: 'Withdrawn',
      explanation: 'We have withdrawn this quotation. If you are interested, ask us for a new one.',
    },
    superseded: {
      label: 'Superseded',
      explanation:
        'This quotation is no longer valid: another one replaces it. Ask us if you do not have it.',
    },
  },
  validity: (date: string) => `It was valid until ${date}.`,
  /** If the country of the party is unknown. Others: quote-view-model.ts. */
  taxId: 'Tax ID',
  vatNumber: 'VAT number',
  taxNumber: 'Tax number',
  buyer: 'Customer',
  attention: 'For the attention of',
  lines: 'Items',
  position: 'No.',
  description: 'Description',
  quantity: 'Quantity',
  unitPrice: 'Unit price',
  discount: 'Disc.',
  tax: 'VAT',
  /** A tax that is not value added tax, for example in the United States. */
  salesTax: 'Sales tax',
  surcharge: 'Surcharge',
  net: 'Amount',
  sku: 'Ref.',
  hsCode: 'HS code',
  origin: 'Origin',
  /** At the foot of a page with lines, and above the lines of the next one. */
  carriedForward: 'Carried forward',
  broughtForward: 'Brought forward',
  totals: 'Totals',
  /** The link from the lines of a long quote to its totals. */
  jumpToTotal: 'Go to the total',
  discounts: 'Discounts, already applied',
  /** Marks a line. */
  optional: 'Optional, not in the total',
  /** Of a section, and before the discount on the whole quote. */
  subtotal: 'Subtotal',
  globalDiscount: 'Discount',
  netTotal: 'Net total',
  taxAt: (label: string, rate: string) => `${label} ${rate}`,
  surchargeAt: (rate: string) => `Equivalence surcharge ${rate}`,
  onBase: (base: string) => `on ${base}`,
  untaxed: 'Not taxed',
  /** A tax that the customer withholds. IRPF follows if the seller is in Spain. */
  withheld: 'Withholding tax',
  amountDue: 'Amount due',
  noTax: 'No tax stated',
  /** Why a line has no tax, by the codes of tax_reason_codes() in SQL. */
  taxReasons: {
    intra_community_goods: 'Intra-Community supply of goods, exempt from VAT',
    intra_community_service:
      'Reverse charge: intra-Community service, the customer accounts for the VAT',
    export: 'Export, exempt from VAT',
    canary_islands: 'Dispatch to the Canary Islands, Ceuta or Melilla, exempt from VAT',
    reverse_charge: 'Reverse charge: the customer accounts for the VAT',
    exempt: 'Exempt from VAT',
    not_subject: 'Outside the scope of VAT: the place of supply is the country of the customer',
    small_business: 'Exempt from VAT under the scheme for small enterprises',
  },
  /** The words around the articles of record-languages.ts. */
  law: { article: 'Article', spanish: 'Spanish Law 37/1992', european: 'Directive 2006/112/EC' },
  terms: 'Terms',
  incoterms: (edition: string) => `Incoterms® ${edition}`,
  delivery: 'Delivery',
  payment: 'Payment',
  bank: 'Bank account',
  holder: 'Account holder',
  bankAdvice:
    'If a message says that our account has changed, confirm it with us by phone before you pay:',
  ibanIsWrong: 'The check digits of this IBAN are wrong. Do not pay before confirming it by phone.',
  /** A transfer must name the number of the quote. */
  reference: 'Payment reference',
  selectToCopy: 'One click selects the whole value, to copy it.',
  sepaQr: 'Scan it with the app of your bank to fill in the transfer',
  notes: 'Notes',
  legal: 'Legal information',
  /** Names the lines of a legal text: `positions` such as "1, 3–5", of `count` lines. */
  ofLines: (positions: string, count: number) => `${count === 1 ? 'Line' : 'Lines'} ${positions}`,
  contentHash: 'SHA-256 fingerprint of the content',
  compareHash:
    'The page of the link and the PDF show the same fingerprint. If yours differ, the PDF was ' +
    'changed: do not pay before confirming the account with us by phone.',
  linkExpires: (instant: string) => `This link works until ${instant}.`,
  json: 'Data as JSON',
  /** The words around the numbers in "Page 2 of 5", at the foot of each page of the PDF. */
  pageNumber: { before: 'Page', between: 'of' },
  reply: {
    title: 'Reply by email',
    accept: 'Accept',
    ask: 'Ask a question',
    /** For a quote that is no longer valid. */
    renew: 'Ask for an updated one',
    acceptSubject: (number: string) => `Acceptance of quotation ${number}`,
    acceptBody: (number: string, version: string, total: string) =>
      `I accept quotation ${number}, version ${version}, with a total of ${total}.`,
    askSubject: (number: string) => `Question about quotation ${number}`,
    renewSubject: (number: string) => `Please update quotation ${number}`,
  },
  errors: {
    not_found: {
      title: 'There is no quotation here',
      explanation:
        'Check that the link is complete, as you received it. If it still does not open, ask ' +
        'whoever sent it for another one.',
    },
    link_expired: {
      title: 'This link has expired',
      explanation: 'It no longer opens the quotation. Ask us for a new link.',
    },
    link_revoked: {
      title: 'This link was revoked',
      explanation: 'It no longer opens the quotation. Ask us for a new link.',
    },
    rate_limited: {
      title: 'Too many requests',
      explanation: 'Wait a minute, then load the page again.',
    },
    unavailable: {
      title: 'Not available at the moment',
      explanation: 'The quotation cannot be read now. Try again in a moment.',
    },
    not_acceptable: {
      title: 'Format not available',
      explanation:
        'The quotation is not available in this format. Open it with the link as you received it.',
    },
    wrong_request: {
      title: 'This request cannot be answered',
      explanation: 'Open the quotation with the link as you received it.',
    },
    pdf_unsupported: {
      title: 'This quotation has no PDF',
      explanation:
        'It contains characters that the PDF cannot show correctly. Open the page and print it, ' +
        'or save it as PDF with the print function of your browser.',
    },
    pdf_unavailable: {
      title: 'The document could not be made',
      explanation:
        'It is too large, or we are busy. Try again later. The page can be printed, or saved as ' +
        'PDF with the print function of your browser.',
    },
    pending: {
      title: 'The document is being prepared',
      explanation: 'It is large, or many were requested. It will be ready in a few seconds.',
    },
    internal_error: {
      title: 'Something went wrong',
      explanation: 'The fault is ours and has been recorded. Try again in a moment.',
    },
  },
  contact: 'Contact',
  tryAgain: 'Try again',
  openPage: 'Open the page of the quotation',
  /** The singular and the plural, by the names in formats.ts. */
  units: {
    piece: ['pc', 'pcs'],
    pair: ['pair', 'pairs'],
    dozen: ['dozen', 'dozen'],
    hundred: ['hundred', 'hundred'],
    thousand: ['thousand', 'thousand'],
    set: ['set', 'sets'],
    pack: ['pack', 'packs'],
    box: ['box', 'boxes'],
    carton: ['carton', 'cartons'],
    bag: ['bag', 'bags'],
    sack: ['sack', 'sacks'],
    bottle: ['bottle', 'bottles'],
    pallet: ['pallet', 'pallets'],
    roll: ['roll', 'rolls'],
    day: ['day', 'days'],
    workingDay: ['working day', 'working days'],
    week: ['week', 'weeks'],
    month: ['month', 'months'],
    year: ['year', 'years'],
    service: ['service', 'services'],
    lumpSum: ['lump sum', 'lump sum'],
  } satisfies Record<string, [singular: string, plural: string]>,
}
export type QuoteTexts = typeof quotes

/** The page /dashboard. Its script fills in the {placeholders}. */
export const dashboard = {
  title: 'Statistics',
  heading: 'Quotes and revenue',
  filters: 'Filters',
  period: 'Period',
  presets: { month: 'This month', year: 'This year', '12m': '12 months', all: 'All' },
  previousPeriod: 'Previous period',
  nextPeriod: 'Next period',
  from: 'From',
  to: 'To',
  country: 'Country',
  allCountries: 'All countries',
  allCurrencies: 'All currencies',
  unknownCountry: 'No country',
  dateKind: 'Date used',
  dateKinds: { issued: 'By issue date', accepted: 'By acceptance date' },
  compare: 'Comparison',
  comparisons: {
    none: 'Not compared',
    previous_period: 'With the previous period',
    previous_year: 'With the previous year',
  },
  csv: 'CSV',
  csvTitle: 'Download these statistics as CSV',
  print: 'Print',
  forgetKey: 'Forget the key',
  needsScript: 'This page needs JavaScript. The same statistics are at',
  updated: 'Up to date · as of {time}',
  notUpdated: 'Not updated · {time} ({age})',
  comparedWith: 'Compared with {period}',
  previousValue: 'previously {value}',
  points: '{points} pp',
  revenue: 'Revenue',
  netOfAccepted: 'Net amount of accepted quotes',
  withoutRate: {
    one: 'Without {count} quote that has no exchange rate',
    other: 'Without {count} quotes that have no exchange rate',
  },
  quotes: 'Quotes',
  accepted: 'Accepted',
  open: 'Open',
  sentAndValid: 'Sent and still valid: {count}',
  lost: 'Lost',
  rejectedAndExpired: 'Rejected and expired: {count}',
  acceptance: 'Acceptance',
  ofDecided: 'of decided',
  ofSent: 'of sent',
  byNumber: 'By number',
  byValue: 'By value',
  outOf: '{part} of {whole}',
  daysToDecision: 'Days to decision',
  median: 'Median',
  mean: 'Mean',
  medianAndMean: 'Median; the mean is {mean}',
  decidedOnKnownDay: 'With a day of decision: {count}',
  average: 'Average amount',
  perAccepted: 'Per accepted quote',
  loading: 'Loading…',
  trail: 'Breadcrumbs',
  timeline: 'Over time',
  days: 'Days',
  months: 'Months',
  years: 'Years',
  table: 'Table',
  byDay: 'Quotes and revenue by day',
  byMonth: 'Quotes and revenue by month',
  byYear: 'Quotes and revenue by year',
  day: 'Day',
  month: 'Month',
  year: 'Year',
  partial: 'partial',
  partialLegend: 'Incomplete',
  otherQuotes: 'Other',
  revenueChartLabel:
    'Column chart of the revenue in {currency}, from {from} to {to}. ' +
    'The table below contains the same data.',
  quotesChartLabel:
    'Column chart of accepted and other quotes, from {from} to {to}. ' +
    'The table below contains the same data.',
  quotesInPeriod: 'Quotes: {quotes}, of which accepted: {accepted}',
  byCountry: 'By country',
  showAll: 'Show all {count}',
  columns: 'Columns',
  columnGroups: {
    revenue: 'Revenue',
    outcomes: 'Open and lost',
    acceptance: 'Acceptance',
    days: 'Days',
  },
  amountsIn: 'Amounts in {currency}',
  acceptanceOfDecided: 'Acceptance of decided',
  byStatus: 'By status',
  statusHeading: 'Status',
  share: '%',
  status: {
    draft: 'Draft',
    sent: 'Sent',
    accepted: 'Accepted',
    rejected: 'Rejected',
    expired: 'Expired',
    withdrawn: 'Withdrawn',
  },
  acceptedOnlyNote: 'By acceptance date, only accepted quotes count',
  byCurrency: 'By currency',
  currency: 'Currency',
  amount: 'Unconverted amount',
  ofWhichUnconverted: 'without exchange rate',
  currenciesNote: 'Amounts without an exchange rate are not part of the revenue in {currency}.',
  breakdown: {
    heading: 'Customers and products',
    customers: 'Customers',
    customer: 'Customer',
    noCustomer: 'No customer',
    otherCustomers: {
      one: '{count} other customer',
      other: '{count} other customers',
    },
    products: 'Products in accepted quotes',
    product: 'Product',
    noSku: 'No SKU',
    otherProducts: {
      one: '{count} other product',
      other: '{count} other products',
    },
    lines: 'Lines',
    linesWithoutRate: {
      one: 'Without {count} line that has no exchange rate',
      other: 'Without {count} lines that have no exchange rate',
    },
  },
  searches: {
    heading: 'What people search for',
    summary: {
      one: 'Last {days} days: {searches} search, {withoutResult} without a result.',
      other: 'Last {days} days: {searches} searches, {withoutResult} of them without a result.',
    },
    frequent: 'Most frequent',
    unsuccessful: 'Without a result',
    words: 'Words that no product has',
    text: 'Text',
    count: 'Searches',
    none: 'None that five callers searched for.',
    note: 'A text appears when five different callers have searched for it.',
  },
  definitionsTitle: 'Definitions',
  definedTerms: {
    revenue: 'Revenue:',
    open: 'Open:',
    lost: 'Lost:',
    acceptance: 'Acceptance:',
    days: 'Days to decision:',
  },
  definitions: {
    revenue: 'net amount of accepted quotes, each converted at its own exchange rate.',
    open:
      'net amount of sent quotes that are still valid today, without quotes that have no ' +
      'exchange rate.',
    lost:
      'net amount of rejected and expired quotes, including sent quotes whose validity is over, ' +
      'without quotes that have no exchange rate.',
    acceptance:
      'the accepted part, by number of quotes and by net amount, of decided quotes (accepted, ' +
      'rejected and expired) and of sent quotes (decided and open).',
    days:
      'days from issue to decision of accepted and rejected quotes with a day of decision; half ' +
      'of them were decided within the median.',
  },
  noRows: 'No data in this period.',
  noQuotes: 'There are no quotes in this period.',
  showEverything: 'Show everything',
  announcement: '{period}. Quotes: {quotes}. Revenue: {revenue}',
  retry: 'Retry now',
  retryIn: 'Retrying in {seconds} s.',
  errors: {
    keyInvalid: 'This key is invalid: unknown, expired or revoked.',
    scopeMissing: 'This key lacks the scope stats:read.',
    invalidFilter: 'A filter is invalid: {parameters}.',
    limited: 'Too many requests with this key or from your address.',
    unavailable: 'The service is unavailable at the moment.',
    offline: 'No network connection.',
    failed: 'The request failed.',
  },
  keyHeading: 'These statistics need a key',
  keyExplanation:
    'A secret key (tqs_…) with the scope stats:read, from the operator of the service. ' +
    'It is stored in this tab only, until you close it.',
  key: 'Key',
  useKey: 'Show the statistics',
  cancel: 'Cancel',
  needsDetailScope: 'This needs a key with the scope stats:detail.',
  enterKey: 'Enter a key',
}
export type DashboardTexts = typeof dashboard

/** The page /. Its script fills in the {placeholders}. */
export const home = {
  heading: 'Search, measure, quote',
  intro:
    'Three features for a catalogue and its quotes, running here on the data of this service, ' +
    'and the code to use them in your own pages and programs.',
  needsScript: 'The live parts of this page need JavaScript; the code samples work without it.',
  copy: 'Copy',
  copied: 'Copied',
  responseSample: 'The response',
  docs: 'API documentation',
  search: {
    title: 'Search products',
    text:
      'Results at every keystroke, with typos, synonyms and exact codes. Ctrl+K (⌘K) opens it ' +
      'from anywhere.',
    label: 'Product, word or code',
    placeholder: 'Try “jumbo strage bag”, “taladro” or “85123a”',
    chosen: 'Chosen: {name} · {sku} · {price}',
    noPrice: 'no price',
    tag: 'In your page: one tag, on any origin that the key is bound to',
    pinnedTag: 'Or exactly this version, to replace after each upgrade',
    /** The server fills in {origin}. */
    keyOfService:
      'The key shown is for pages of {origin}. For your own pages, create a key for their origin:',
    noKey: 'Create a key for the origin of your page:',
    createKey: 'A key for your origin',
    curl: 'From a program',
  },
  stats: {
    title: 'Statistics',
    text: 'Quotes, acceptance and revenue, exact to the cent and current within two seconds.',
    open: 'Open the statistics',
    needsKey: 'The statistics need a key with the scope stats:read. The dashboard asks for it.',
    unavailable: 'The statistics are unavailable at the moment.',
    curl: 'From a program',
  },
  quote: {
    title: 'A quote by link',
    text:
      'The customer opens it without an account, as a page, a PDF or JSON. A sent quote does ' +
      'not change, even if the database does.',
    open: 'Open the quote',
    unavailable: 'The quote is unavailable at the moment.',
    none: 'No quote is configured here. This is how to create a link:',
    curl: 'The same quote as JSON or PDF',
  },
}
export type HomeTexts = typeof home

/** The palette. */
export const palette = {
  title: 'Search products',
  list: 'Products',
  close: 'Close: esc',
  favourites: 'Favourites',
  recent: 'Recent',
  popular: 'Most quoted',
  /** `total` is at most 1000, because the search counts no further. */
  count: (shown: number, total: number) => {
    if (total === 1) return '1 result'
    const of = shown < total ? `${shown} of ` : ''
    return `${of}${total >= 1000 ? '1000 or more' : total} results`
  },
  nothing: (query: string) => `Nothing found for “${query}”`,
  advice: 'Try fewer letters, another word or the code.',
  chosen: (name: string) => `Chosen: ${name}`,
  notChosen: (query: string) => `Nothing chosen: the list is not yet for “${query}”.`,
  marked: (name: string) => `Favourite: ${name}`,
  unmarked: (name: string) => `No longer a favourite: ${name}`,
  deleted: (name: string) => `“${name}” is no longer in the catalogue`,
  degraded: 'Fallback search: results may be incomplete',
  didYouMean: 'Did you mean this?',
  inexact: (name: string) => `Not exact: Enter again chooses “${name}”`,
  copied: (sku: string) => `Copied: ${sku}`,
  more: (count: number) => `Show ${count} more`,
  failures: {
    offline: 'Offline. Continues when the connection is back.',
    unreachable: 'The search cannot be reached. Retrying…',
    unavailable: 'The search is not available. Retrying…',
    refused: 'The search is not valid.',
    unauthenticated: 'No access: the key is missing or invalid.',
    forbidden: 'No access: this key may not search here.',
  },
  limited: (seconds: number) => `Too many searches. Continues in ${seconds} s.`,
  hints: {
    move: 'move',
    choose: 'choose',
    chooseMore: 'choose and continue',
    favourite: 'favourite',
    copy: 'copy the SKU',
  },
}
export type PaletteTexts = typeof palette
