// The languages of a quote and the texts of each one.
import { en } from './en.ts'
import { es } from './es.ts'
import type { QuoteTexts } from './quote-texts-type.ts'

export type Language = 'es' | 'en'

export const quoteTexts: Record<Language, QuoteTexts> = { es, en }
