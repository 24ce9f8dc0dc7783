// The legal texts that the document of a link contains: by country, tax and language.
import { sql } from 'kysely'
import t from 'tap'
import type { Company } from '../../../src/company/company-file.ts'
import { recordCompany } from '../../../src/company/company-record.ts'
import {
  createQuoteLink,
  createQuoteLinkWithDetails,
} from '../../../src/quotes/links/manage-links.ts'
import { recordLanguages } from '../../../src/quotes/record-languages.ts'
import type { QuoteDocument } from '../../../src/quotes/schema.ts'
import { languages } from '../../../src/texts/languages.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import { company } from '../../support/database/company.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import {
  createAndReadLink,
  minimalLine,
  minimalQuote,
  writeQuote,
} from '../../support/quotes/frozen-documents.ts'

t.test(
  'the legal sentences match country, tax and language, in the order of company.json',
  async (t) => {
    const { db } = await testDatabase(t)
    const getLegalSentences = async (
      country: string | null,
      taxRate: string | null,
      language?: 'es' | 'en',
    ) => {
      const number = `P-${country}-${taxRate}-${language}-${counter++}`
      await writeQuote(db, { ...minimalQuote, number, country }, [
        minimalLine,
        { ...minimalLine, tax_rate: taxRate },
      ])
      return (
        JSON.parse(
          (await createAndReadLink(db, { number, ...(language && { language }) })).document,
        ) as QuoteDocument
      ).legal
    }
    let counter = 0
    const always = 'Precios válidos salvo error u omisión.'
    const exported = 'Operación exenta: artículo 21 de la Ley 37/1992 (exportación).'
    const intraCommunity =
      'Operación exenta: artículo 25 de la Ley 37/1992 (entrega intracomunitaria).'
    for (const [country, taxRate, ...expected] of [
      ['ES', '21', always],
      ['ES', '0', always],
      ['FR', '0', always, intraCommunity],
      ['GR', '0.0', always, intraCommunity],
      ['US', '0', always, exported],
      // Outside the Union.
      ['GB', '0', always, exported],
      ['US', '21', always],
      ['US', null, always],
      [null, '0', always],
    ] as const)
      t.strictSame(await getLegalSentences(country, taxRate), expected, `${country} ${taxRate}`)
    t.strictSame(await getLegalSentences('US', '0', 'en'), [
      'Errors and omissions excepted.',
      'VAT exempt export, article 21 of Spanish law 37/1992.',
    ])

    await recordCompany(db, { ...company, seller: { ...company.seller, legal: [] } })
    await writeQuote(db, { ...minimalQuote, number: 'P-no-legal', country: 'US' }, [minimalLine])
    const { document } = await createAndReadLink(db, { number: 'P-no-legal' })
    t.match(document, /"legal":\[\],"lines"/, 'no translations without texts')

    const britishCompany: Company = { ...company, seller: { ...company.seller, country: 'GB' } }
    await recordCompany(db, britishCompany)
    t.strictSame(
      await getLegalSentences('FR', '0'),
      [always, exported],
      'every foreign quote of a seller outside the Union is an export',
    )
  },
)

t.test('an exemption names its lines if others are taxed, in every language', async (t) => {
  const { db } = await testDatabase(t)
  const lines = ['10', '0', null, '0', '0'].map((tax_rate) => ({ ...minimalLine, tax_rate }))
  await writeQuote(db, { ...minimalQuote, country: 'JP' }, lines)
  const { document } = await createAndReadLink(db, { number: 'P-1' })
  const exported = 'Operación exenta: artículo 21 de la Ley 37/1992 (exportación).'
  const inEnglish = 'VAT exempt export, article 21 of Spanish law 37/1992.'
  t.match(JSON.parse(document), {
    legal: ['Precios válidos salvo error u omisión.'],
    legalForLines: [{ text: exported, lines: [2, 4, 5] }],
    legalTranslations: {
      en: {
        legal: ['Errors and omissions excepted.'],
        legalForLines: [{ text: inEnglish, lines: [2, 4, 5] }],
      },
    },
  })
  await writeQuote(db, { ...minimalQuote, number: 'P-2', country: 'JP' }, [
    ...lines.slice(1),
    { ...minimalLine, tax_rate: '0' },
  ])
  const whole = JSON.parse((await createAndReadLink(db, { number: 'P-2' })).document)
  t.same(whole.legal, ['Precios válidos salvo error u omisión.', exported])
  t.notOk('legalForLines' in whole)
  t.same(whole.legalTranslations, { en: { legal: ['Errors and omissions excepted.', inEnglish] } })
})

t.test('a legal text that the company lacks in the language is shown in another one', async (t) => {
  const { db } = await testDatabase(t)
  const lines = ['10', '0'].map((tax_rate) => ({ ...minimalLine, tax_rate }))
  await writeQuote(db, { ...minimalQuote, country: 'JP', language: 'fr' }, lines)
  const always = 'Precios válidos salvo error u omisión.'
  const exported = 'Operación exenta: artículo 21 de la Ley 37/1992 (exportación).'
  const createAndRead = async (legal: Company['seller']['legal']) => {
    await recordCompany(db, { ...company, seller: { ...company.seller, legal } })
    return JSON.parse((await createAndReadLink(db, { number: 'P-1' })).document)
  }
  // English comes first in the file, but the language of the company is Spanish.
  const { legal } = company.seller
  const sorted = legal.toSorted((one, other) => one.language.localeCompare(other.language))
  t.match(sorted[0], { language: 'en' })
  t.match(await createAndRead(sorted), {
    legal: [],
    legalForLines: undefined,
    legalInOtherLanguages: [
      { language: 'es', text: always, lines: undefined },
      { language: 'es', text: exported, lines: [2] },
    ],
    legalTranslations: { fr: undefined, de: undefined, en: { legalInOtherLanguages: undefined } },
  })

  const french = { language: 'fr', appliesTo: 'all', text: 'Sauf erreur ou omission.' } as const
  t.match(await createAndRead([...legal, french]), {
    legal: [french.text],
    legalInOtherLanguages: [{ language: 'es', text: exported, lines: [2] }],
  })

  const inEnglish = legal.filter(({ language }) => language === 'en')
  t.match(await createAndRead([...inEnglish, french]), {
    legal: [french.text],
    legalInOtherLanguages: [{ language: 'en', text: /article 21/ }],
  })

  // The English page of this quote must have the French text.
  const exemptions = inEnglish.filter(({ appliesTo }) => appliesTo !== 'all')
  const incomplete = await createAndRead([...exemptions, french])
  t.match(incomplete.legalTranslations.en, {
    legal: [],
    legalForLines: [{ lines: [2] }],
    legalInOtherLanguages: [{ language: 'fr', text: french.text }],
  })
})

t.test('a reason says why lines have no tax, with the law of the seller', async (t) => {
  const { db } = await testDatabase(t)
  await recordLanguages(db)
  const recordSeller = (country: string) =>
    recordCompany(db, { ...company, seller: { ...company.seller, country, legal: [] } })
  let counter = 0
  const read = async (
    quote: Partial<typeof minimalQuote>,
    lines: Partial<typeof minimalLine>[],
  ): Promise<QuoteDocument> => {
    const number = `P-${counter++}`
    await writeQuote(
      db,
      { ...minimalQuote, ...quote, number },
      lines.map((line) => ({ ...minimalLine, tax_rate: '0', ...line })),
    )
    return JSON.parse((await createAndReadLink(db, { number })).document)
  }
  await recordSeller('ES')
  for (const [reason, text, english] of [
    [
      'intra_community_goods',
      /Entrega intracomunitaria.*art\. 25 Ley 37\/1992; art\. 138/,
      /138 Dir/,
    ],
    [
      'intra_community_service',
      /Inversión del sujeto pasivo.*44, 196 Directiva/,
      /^Reverse charge/,
    ],
    ['export', /^Exportación.*art\. 21 Ley 37/, /^Export/],
    ['canary_islands', /Canarias, Ceuta o Melilla.*art\. 21/, /Canary Islands/],
    ['reverse_charge', /^Inversión del sujeto pasivo.*art\. 84/, /^Reverse charge/],
    ['exempt', /^Operación exenta.*art\. 20/, /^Exempt from VAT/],
    ['not_subject', /no sujeta/, /Outside the scope/],
    ['small_business', /franquicia/, /small enterprises/],
    ['Exento por convenio con la OTAN', /^Exento por convenio con la OTAN$/, /^Exento por conv/],
  ] as const) {
    const document = await read({ country: 'ES' }, [{ tax_rate: '21' }, { tax_reason: reason }])
    t.match(document.legalForLines, [{ text, lines: [2] }], reason)
    t.match(document.legalTranslations?.en?.legalForLines, [{ text: english, lines: [2] }])
    t.match(document.lines[0], { taxReason: null })
    t.match(document.lines[1]?.taxReason, { code: reason.includes(' ') ? null : reason, text })
    t.equal(document.buyer.country, 'ES')
  }
  const several = await read({ country: 'PT', default_tax_reason: 'intra_community_goods' }, [
    {},
    { unit: 'HUR', tax_reason: 'intra_community_service' },
    {},
    { tax_rate: null },
  ])
  t.match(several.legalForLines, [
    { text: /Entrega/, lines: [1, 3] },
    { text: /servicio/, lines: [2] },
  ])
  const whole = await read({ country: 'ES', default_tax_reason: 'reverse_charge' }, [{}, {}])
  t.match(whole, { legal: [/^Inversión/], legalForLines: undefined })

  // Without a reason, only where the countries decide it.
  t.match((await read({ country: 'US' }, [{}])).lines, [{ taxReason: { code: 'export' } }])
  t.match((await read({ country: 'PT' }, [{}])).legal, [/138 Directiva/])
  t.match((await read({ country: 'PT' }, [{ unit: 'HUR' }])).lines, [{ taxReason: null }])
  t.match((await read({ country: 'ES' }, [{}])).lines, [{ taxReason: null }])
  await recordSeller('FR')
  t.match((await read({ country: 'US' }, [{}])).legal, [/^Exportación exenta de IVA \(art\. 146 D/])
  await recordSeller('MX')
  t.match((await read({ country: 'US' }, [{}])).legal, ['Exportación exenta de IVA.'])

  for (const [line, constraint] of [
    [{ tax_reason: 'exprot' }, 'quote_lines_tax_reason_check'],
    [{ tax_reason: 'export', tax_rate: '21' }, 'quote_lines_reason_has_no_tax'],
  ] as const)
    await t.rejects(read({}, [line]), { message: new RegExp(constraint) })
})

t.test('a new link names probable mistakes, and strict links are refused', async (t) => {
  const { db } = await testDatabase(t)
  const good = { ...minimalQuote, valid_until: '2026-04-01', country: 'ES' }
  for (const [number, quote, lines, warnings] of [
    ['P-good', good, [{ ...minimalLine, tax_rate: '21' }], []],
    ['P-empty', { ...good, valid_until: null }, [], [/no lines/, /without end/]],
    ['P-zero', good, [{ ...minimalLine, tax_rate: '0' }], [/why line 1 has 0 % tax/]],
    ['P-emoji', { ...good, notes: '✅ ค้อน' }, [minimalLine], [/no PDF.*ค \(U\+0E04\)/]],
    [
      'P-negative',
      good,
      [
        { ...minimalLine, unit_price: '10', tax_rate: '0', tax_reason: 'exempt' },
        { ...minimalLine, unit_price: '-10', tax_rate: '21' },
      ],
      [/below zero: -2\.10 EUR/],
    ],
  ] as const) {
    await writeQuote(db, { ...quote, number }, [...lines])
    const created = await createQuoteLinkWithDetails(db, { number })
    t.equal(created.warnings.length, warnings.length, number)
    t.match(created.warnings, warnings)
    const strict = createQuoteLinkWithDetails(db, { number, isStrict: true })
    if (warnings.length === 0) await strict
    else await t.rejects(strict, { message: /--strict rejects it/ }, number)
  }
  const { count } = await db
    .selectFrom('quote_shares')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow()
  t.equal(Number(count), 6, 'a refused link does not remain')
})

t.test('a row in languages is enough for quotes in another language', async (t) => {
  const { db } = await testDatabase(t)
  await t.rejects(addQuote(db, 'R-nl', { language: 'nl' }), /quotes_language_fkey/)
  await recordLanguages(db)
  t.same(
    (await sql<{ languages: string[] }>`select quote_languages() as languages`.execute(db)).rows,
    [{ languages }],
  )
  await db
    .insertInto('languages')
    .values({ code: 'nl', place: 99, vat_label: 'btw', sales_tax_label: 'belasting' })
    .execute()
  await addQuote(db, 'R-nl', { language: 'nl' })
  await createQuoteLink(db, { number: 'R-nl' })
  const { rows } = await sql<{ document: string }>`
    select document from quote_shares order by id desc limit 1`.execute(db)
  t.match(JSON.parse(rows[0]?.document ?? ''), {
    language: 'nl',
    totals: { taxLabel: { nl: 'btw', fr: 'TVA' } },
  })
})
