// The locale of each language of a quote.

// British English: in international trade its dates and its "US$" are unambiguous.
export const locales = { es: 'es-ES', en: 'en-GB' } as const
