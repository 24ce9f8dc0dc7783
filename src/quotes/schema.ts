// The schemas of a linked quote: its frozen document, and the JSON that a link returns.
// The SQL function quote_document (src/database/schema/) builds the document. It also computes
// the totals and chooses the legal texts about tax exemptions.
//
// To add a field to the document:
// 1. Write it in QuoteDocument below. It must be optional, because the documents of existing links
//    never get it.
// 2. Write a migration that replaces quote_document. test/quotes/links/frozen-document.test.ts
//    fails until then, and until its completeDocument has the field.
// 3. Add it to `document` in test/support/quotes/linked-quote.ts, to view-model/ and to
//    page/quote-page-template.eta, and a label to src/texts/ if it needs one.
//    test/quotes/page/quote-page.test.ts fails until then.
// 4. Add it to pdf/pdf-template.typ, which must show the same as the page.
//    test/quotes/pdf/quote-pdf.test.ts fails until then.
// 5. If it is a field of the document itself, add it to the names that a visitor gets in
//    test/quotes/links/link-attacks.test.ts.
import { type Static, Type } from '@sinclair/typebox'
import { Nullable } from '../api-docs/nullable-schema.ts'
import { Money } from '../company/money.ts'
import { visibleStatuses } from '../database/quote-statuses.ts'
import { forEachLanguage, type Language, languages } from '../texts/languages.ts'

const Text = Nullable(Type.String())
const DescribedText = (description: string) => Nullable(Type.String({ description }))
const Decimal = Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$', description: 'Decimal text' })
const PossiblyNegativeDecimal = Type.String({
  pattern: '^-?[0-9]+(\\.[0-9]+)?$',
  description: 'Decimal text, below 0 for returns',
})
const LocalDate = Type.String({
  format: 'date',
  description: 'YYYY-MM-DD in the calendar of the seller',
})

export const QuoteLine = Type.Object({
  position: Type.Integer({ minimum: 1 }),
  kind: Type.Optional(
    Type.Unsafe<'line' | 'optional' | 'heading' | 'text'>(
      Type.Union(
        ['line', 'optional', 'heading', 'text'].map((kind) => Type.Literal(kind)),
        {
          description:
            'Only the lines of the kind `line` are in the totals. `optional`: an offer beside them. ' +
            '`heading` begins a section, and `text` stands between lines: both have a description, ' +
            'and 0 as quantity, price and net. Older links lack it: then it is `line`',
        },
      ),
    ),
  ),
  sku: Text,
  description: Type.String(),
  quantity: PossiblyNegativeDecimal,
  unit: Nullable(Type.String({ description: 'UN/ECE Recommendation 20' })),
  unitPrice: Money,
  discountPercent: Decimal,
  taxRate: Nullable(Decimal),
  surchargeRate: Nullable(
    Type.String({
      pattern: Decimal.pattern ?? '',
      description: 'Recargo de equivalencia, per cent',
    }),
  ),
  taxReason: Type.Optional(
    Nullable(
      Type.Object(
        { code: DescribedText('Null for a text of the seller'), text: Type.String() },
        {
          description:
            'Why the line has no tax. The legal texts contain it, unless the line is optional. Older ' +
            'links lack it',
        },
      ),
    ),
  ),
  hsCode: DescribedText('Harmonised System code'),
  originCountry: DescribedText('ISO 3166-1 alpha-2'),
  net: Money,
  subtotal: Type.Optional(
    Nullable({
      ...Money,
      description: 'Of a heading: the sum of the lines up to the next one. Older links lack it',
    }),
  ),
})

const CountryCode = Type.Optional(
  Nullable(Type.String({ description: 'ISO 3166-1 alpha-2. Older links lack it' })),
)

const LanguageCode = Type.Unsafe<Language>(
  Type.Union(languages.map((language) => Type.Literal(language))),
)

// An example: the quote is in Spanish, and the seller has one text in Spanish and English, and one
// only in French. legalTranslations.en is what the English page shows: `legal` contains the English
// text, and `legalInOtherLanguages` the French one, because it applies too.
const LegalTexts = Type.Object({
  legal: Type.Array(Type.String(), { description: 'Legal texts that hold for the whole quote' }),
  legalForLines: Type.Optional(
    Type.Array(
      Type.Object({
        text: Type.String(),
        lines: Type.Array(Type.Integer({ minimum: 1, description: 'Position of a line' })),
      }),
      {
        description: 'Legal texts that hold for some lines, such as an exemption. Missing if none',
      },
    ),
  ),
  legalInOtherLanguages: Type.Optional(
    Type.Array(
      Type.Object({
        language: LanguageCode,
        text: Type.String(),
        lines: Type.Optional(
          Type.Array(Type.Integer({ minimum: 1, description: 'Position of a line' })),
        ),
      }),
      {
        description: 'Legal texts that the seller does not have in this language. Missing if none',
      },
    ),
  ),
})

/** The part of a quote that a link shows, frozen when the link is created. */
export const QuoteDocument = Type.Object({
  number: Type.String(),
  version: Type.Integer({ minimum: 1, description: 'Counts up when a quote is revised' }),
  issuedOn: LocalDate,
  validUntil: Nullable(LocalDate),
  language: LanguageCode,
  currency: Type.String({ description: 'ISO 4217' }),
  seller: Type.Object({
    legalName: Type.String(),
    taxId: Type.String(),
    address: Type.String(),
    email: Type.String(),
    phone: Type.String(),
    website: Text,
    bank: Nullable(Type.Object({ holder: Type.String(), iban: Type.String(), bic: Text })),
    country: CountryCode,
  }),
  buyer: Type.Object({
    name: Text,
    taxId: Text,
    address: Text,
    contactName: Text,
    country: CountryCode,
  }),
  lines: Type.Array(QuoteLine),
  totals: Type.Object({
    net: Money,
    discounts: { ...Money, description: 'The discounts of single lines, already in their nets' },
    discount: Type.Optional(
      Nullable(
        Type.Object(
          {
            percent: Nullable(Decimal),
            base: { ...Money, description: 'The sum of the lines, before the discount' },
            amount: Money,
          },
          {
            description:
              'The discount on the whole quote. `net` and the bases of the taxes are after it. ' +
              'Older links lack it',
          },
        ),
      ),
    ),
    taxes: Type.Array(
      Type.Object({
        rate: Decimal,
        surchargeRate: Nullable(Decimal),
        base: Money,
        amount: Money,
        surchargeAmount: Nullable(Money),
      }),
    ),
    taxLabel: Type.Optional(
      Type.Partial(Type.Object(forEachLanguage(() => Type.String())), {
        description:
          'Name of the tax in each language, such as IVA, IGIC or GST. Older links may lack it: ' +
          'then it is IVA in es and VAT in en. Some have only es and en',
      }),
    ),
    untaxedBase: Type.Optional(
      Nullable({
        ...Money,
        description: 'The sum of the lines without a tax rate. Null if all have one',
      }),
    ),
    gross: Money,
    withheld: Type.Optional(
      Nullable(
        Type.Object(
          { rate: Decimal, amount: Money, amountDue: Money },
          {
            description:
              'Tax that the customer withholds from `net` and pays to the state, such as Spanish ' +
              'IRPF. `amountDue` is `gross` less this amount. Older links lack it',
          },
        ),
      ),
    ),
  }),
  trade: Type.Object({
    incoterm: Nullable(Type.Object({ code: Type.String(), edition: Type.String(), place: Text })),
    delivery: Text,
  }),
  payment: Type.Object({ terms: Text }),
  // From company.json: sentences for all quotes, exports or intra-Community supplies.
  ...LegalTexts.properties,
  legalTranslations: Type.Optional(
    Type.Partial(Type.Object(forEachLanguage(() => LegalTexts)), {
      description: 'The legal texts in other languages, as far as the seller has them',
    }),
  ),
  notes: Text,
})
export type QuoteDocument = Static<typeof QuoteDocument>

/** Whether a line is in the totals. */
export const isCounted = ({ kind = 'line' }: QuoteDocument['lines'][number]) => kind === 'line'

const LinkedQuoteStatus = Type.Union(
  visibleStatuses.map((status) => Type.Literal(status)),
  { description: 'As of now. A sent quote past its validity is expired.' },
)

export const LinkedQuote = Type.Object(
  {
    status: LinkedQuoteStatus,
    link: Type.Object({
      expiresAt: Nullable(
        Type.String({ format: 'date-time', description: 'null: the link never expires' }),
      ),
    }),
    contentHash: Type.String({
      description: 'SHA-256 of document in RFC 8785 canonical form, hexadecimal',
    }),
    document: QuoteDocument,
  },
  { description: 'A quote behind a link' },
)
export type LinkedQuote = Static<typeof LinkedQuote>
