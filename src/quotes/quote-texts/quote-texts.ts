// The languages of a quote, with the locale and the texts of each one.
import { en } from './quote-texts-en.ts'
import { es } from './quote-texts-es.ts'
import type { QuoteTexts } from './quote-texts-type.ts'

export type Language = 'es' | 'en'

// British English writes unambiguous dates ("1 March 2026") and "US$" for the US dollar.
export const locales = { es: 'es-ES', en: 'en-GB' } as const

export const quoteTexts: Record<Language, QuoteTexts> = { es, en }
