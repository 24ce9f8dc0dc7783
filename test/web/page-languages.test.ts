// The pages in every language: texts, links to the other languages, and texts with counts.
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import type { DashboardTexts } from '../../src/texts/en.ts'
import { languages, textsByLanguage } from '../../src/texts/languages.ts'
import { createFormats } from '../../src/web/browser/number-and-date-formats.ts'
import type { PaletteTexts } from '../../src/web/palette/palette.d.ts'
import { testService } from '../support/service/test-service.ts'

const { app } = await testService(t, { index: false, config: { WEB_PARTS: ['home', 'dashboard'] } })

async function readPage(path: string, language: string) {
  const { body, statusCode } = await app.inject(`${path}?lang=${language}`)
  t.equal(statusCode, 200)
  const [, json = ''] =
    /<script type="application\/json" id="page">(.*?)<\/script>/s.exec(body) ?? []
  const data = JSON.parse(json) as {
    locale: string
    texts: { heading: string } & Partial<DashboardTexts>
    otherLanguages?: { code: string }[]
  }
  return { body, ...data }
}

t.test('each file of texts is in the list, and the palette loads it', (t) => {
  const source = (path: string) => new URL(`../../src/${path}`, import.meta.url)
  const codes = readdirSync(source('texts')).flatMap(
    (name) => name.match(/^[a-z]{2}(?=\.ts$)/) ?? [],
  )
  t.same(codes, [...languages, 'ca'].toSorted(), 'only Catalan has texts for the palette alone')
  const palette = readFileSync(source('web/palette/palette-language.js'), 'utf8')
  for (const code of codes) t.ok(palette.includes(`trade-quoting-palette/texts/${code}'`), code)
  t.end()
})

t.test('/ and /dashboard are in every language, and link to the others', async (t) => {
  for (const path of ['/', '/dashboard']) {
    const headings = new Set<string>()
    for (const language of languages) {
      const { body, texts, locale, otherLanguages } = await readPage(path, language)
      t.match(body, `<html lang="${language}">`)
      t.equal(locale, textsByLanguage[language].locale)
      t.ok(body.includes(texts.heading) || path === '/dashboard')
      headings.add(texts.heading)
      // The script of the dashboard makes its links.
      const links = [...body.matchAll(/href="\?lang=(\w+)"\s+hreflang="\w+"\s+lang="\w+"/g)]
      t.same(
        otherLanguages?.map(({ code }) => code) ?? links.map(([, link]) => link),
        languages.filter((other) => other !== language),
      )
      const { body: accepted } = await app.inject({
        url: path,
        headers: { 'accept-language': `${language}, xx;q=0.5` },
      })
      t.match(accepted, `<html lang="${language}">`)
    }
    for (const [lang, language] of Object.entries({ EN: 'en', 'pt-BR': 'pt', 'es-MX': 'es' }))
      t.match((await app.inject(`${path}?lang=${lang}`)).body, `<html lang="${language}">`, lang)
    t.equal(headings.size, languages.length, `${path}: no text is left in another language`)
  }
})

t.test('the age of statistics that are not updated reads well in every language', async (t) => {
  for (const language of languages) {
    const { texts, locale } = await readPage('/dashboard', language)
    const { ago } = createFormats(locale)
    // No word governs the age, because it can be "now" as well as "3 minutes ago".
    t.match(texts.notUpdated ?? '', /^[\p{L} ]+ · \{time\} \(\{age\}\)$/u)
    for (const seconds of [5, 300, 7_200]) t.notMatch(ago(seconds), /[-−]/, language)
  }
})

t.test('a text with a count has a form for one', async (t) => {
  const expected = {
    es: ['Falta {count} presupuesto', 'Faltan {count} presupuestos'],
    en: ['Without {count} quote', 'Without {count} quotes'],
    pt: ['Sem {count} orçamento', 'Sem {count} orçamentos'],
    fr: ['Sans {count} devis qui n’a', 'Sans {count} devis qui n’ont'],
    it: ['Senza {count} preventivo', 'Senza {count} preventivi'],
    de: ['Ohne {count} Angebot, das', 'Ohne {count} Angebote, die'],
  }
  for (const language of languages) {
    const dashboard = await readPage('/dashboard', language)
    const { choosePlural } = createFormats(dashboard.locale)
    const forms = dashboard.texts.withoutRate ?? { one: '', other: '' }
    const [one = '', several = ''] = expected[language]
    t.match(choosePlural(1, forms), new RegExp(`^${RegExp.escape(one)}[, ]`))
    for (const count of [2, 5, 21, 1_000_000])
      t.match(choosePlural(count, forms), new RegExp(`^${RegExp.escape(several)}[, ]`), `${count}`)
    // A count after a colon needs no form.
    t.match(dashboard.texts.quotesInPeriod, /: \{quotes\}, .*: \{accepted\}$/)
    t.match(dashboard.texts.announcement, /: \{quotes\}\..*: \{revenue\}$/)
  }
})

t.test('the palette counts no result, one and several', async (t) => {
  const counts: Record<string, string[]> = {}
  for (const language of languages) {
    const texts: PaletteTexts = textsByLanguage[language].palette
    counts[language] = [texts.count(0, 0), texts.count(1, 1), texts.count(1, 2)]
  }
  t.same(counts, {
    es: ['0 resultados', '1 resultado', '1 de 2 resultados'],
    en: ['0 results', '1 result', '1 of 2 results'],
    pt: ['0 resultados', '1 resultado', '1 de 2 resultados'],
    fr: ['0 résultat', '1 résultat', '1 sur 2 résultats'],
    it: ['0 risultati', '1 risultato', '1 di 2 risultati'],
    de: ['0 Treffer', '1 Treffer', '1 von 2 Treffern'],
  })
})

t.test('a language has one term for a scope, and one kind of quotation marks', async (t) => {
  for (const language of languages) {
    const texts = await Promise.all(
      ['/', '/dashboard'].map(async (path) =>
        JSON.stringify((await readPage(path, language)).texts),
      ),
    )
    const terms = [...texts.join().matchAll(/[\p{L}’]+(?= stats:)/gu)].map(([term]) => term)
    t.ok(terms.length >= 4, language)
    t.same([...new Set(terms)].length, 1, terms.join())
    const { nothing, inexact } = textsByLanguage[language].palette
    const marks = (nothing('X') + inexact('X')).match(/[«“„](?=\u00a0?X)/g)
    t.equal(new Set(marks).size, 1, `the palette, ${language}`)
  }
})

t.test('French signs stay on the line of their word', async (t) => {
  for (const path of ['/', '/dashboard']) {
    const { texts } = await readPage(path, 'fr')
    t.notMatch(JSON.stringify(texts), /[\p{L}»] [:;!?]|« | »/u, path)
  }
  const file = await readFile(new URL('../../src/texts/fr.ts', import.meta.url), 'utf8')
  t.notMatch(file, /\p{L} [:;!][ ']|« | »/u)
})
