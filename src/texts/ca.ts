// The Catalan texts of the palette. The pages have none.
import type { PaletteTexts } from './en.ts'

/** The palette. */
export const palette: PaletteTexts = {
  title: 'Cercar productes',
  list: 'Productes',
  close: 'Tancar: esc',
  favourites: 'Preferits',
  recent: 'Recents',
  popular: 'Més pressupostats',
  count: (shown, total) => {
    if (total === 1) return '1 resultat'
    const of = shown < total ? `${shown} de ` : ''
    return `${of}${total >= 1000 ? '1000 o més' : total} resultats`
  },
  nothing: (query) => `Res per a «${query}»`,
  advice: 'Prova amb menys lletres, una altra paraula o el codi.',
  chosen: (name) => `Triat: ${name}`,
  notChosen: (query) => `Res triat: la llista encara no és de «${query}».`,
  marked: (name) => `Preferit: ${name}`,
  unmarked: (name) => `Ja no és preferit: ${name}`,
  deleted: (name) => `«${name}» ja no és al catàleg`,
  degraded: 'Cerca de reserva: hi pot faltar alguna cosa',
  didYouMean: 'Volies dir això?',
  inexact: (name) => `No és exacte: Retorn un altre cop tria «${name}»`,
  copied: (sku) => `Copiat: ${sku}`,
  more: (count) => `Mostrar-ne ${count} més`,
  failures: {
    offline: 'Sense connexió. Continuo quan torni.',
    unreachable: 'No es pot arribar al cercador. Reintentant…',
    unavailable: 'El cercador no respon ara. Reintentant…',
    refused: 'La cerca no és vàlida.',
    unauthenticated: 'Sense accés: la clau falta o no és vàlida.',
    forbidden: 'Sense accés: aquesta clau no permet cercar aquí.',
  },
  limited: (seconds) => `Massa cerques. Continuo en ${seconds} s.`,
  hints: {
    move: 'moure’s',
    choose: 'triar',
    chooseMore: 'triar i continuar',
    favourite: 'preferit',
    copy: 'copiar el codi',
  },
}
