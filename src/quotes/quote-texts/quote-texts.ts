// The texts of a quote by language.
import type { Language } from '../../company/languages.ts'
import { de } from './quote-texts-de.ts'
import { en } from './quote-texts-en.ts'
import { es } from './quote-texts-es.ts'
import { fr } from './quote-texts-fr.ts'
import { it } from './quote-texts-it.ts'
import { pt } from './quote-texts-pt.ts'
import type { QuoteTexts } from './quote-texts-type.ts'

export const quoteTexts: Record<Language, QuoteTexts> = { es, en, pt, fr, it, de }
