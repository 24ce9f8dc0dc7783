// The legal texts that the document of a link contains: by country, tax and language.
import t from 'tap'
import type { Company } from '../../../src/company/company-file.ts'
import { recordCompany } from '../../../src/company/company-record.ts'
import type { QuoteDocument } from '../../../src/quotes/schema.ts'
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
    t.strictSame(await getLegalSentences('ES', '21'), [always])
    t.strictSame(
      await getLegalSentences('ES', '0'),
      [always],
      '0 % in the country of the seller is no export',
    )
    t.strictSame(await getLegalSentences('FR', '0'), [always, intraCommunity])
    t.strictSame(await getLegalSentences('GR', '0.0'), [always, intraCommunity])
    t.strictSame(await getLegalSentences('US', '0'), [always, exported])
    t.strictSame(
      await getLegalSentences('GB', '0'),
      [always, exported],
      'the United Kingdom is outside the Union',
    )
    t.strictSame(await getLegalSentences('US', '21'), [always], 'a quote with tax is not exempt')
    t.strictSame(
      await getLegalSentences('US', null),
      [always],
      'without a stated tax there is no exemption',
    )
    t.strictSame(
      await getLegalSentences(null, '0'),
      [always],
      'without a country there is no exemption',
    )
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
