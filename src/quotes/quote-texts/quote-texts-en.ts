// The texts of the quote page, its error pages and the PDF in English. Every other language must
// have the same fields.

export const en = {
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
    superseded: {
      label: 'Superseded',
      explanation:
        'This quotation is no longer valid: another one replaces it. Ask us if you do not have it.',
    },
  },
  validity: (date: string) => `It was valid until ${date}.`,
  /** If the country of the party is unknown. Others: tax-number-label.ts. */
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
  netTotal: 'Net total',
  taxAt: (label: string, rate: string) => `${label} ${rate}`,
  surchargeAt: (rate: string) => `Equivalence surcharge ${rate}`,
  onBase: (base: string) => `on ${base}`,
  untaxed: 'Not taxed',
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
  /** The words around the articles of tax-reasons.ts. */
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
    rendering_too_large: {
      title: 'This quotation is too large for a page',
      explanation: 'Open its PDF, or ask whoever sent it to you.',
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

export type QuoteTexts = typeof en
