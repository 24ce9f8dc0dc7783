// The Spanish texts of the palette.

/** @type {import('../palette.d.ts').PaletteTexts} */
export default {
  title: 'Buscar productos',
  list: 'Productos',
  close: 'Cerrar: esc',
  favourites: 'Favoritos',
  recent: 'Recientes',
  popular: 'Más presupuestados',
  count: (shown, total) => {
    if (total === 1) return '1 resultado'
    const of = shown < total ? `${shown} de ` : ''
    return `${of}${total >= 1000 ? '1000 o más' : total} resultados`
  },
  nothing: (query) => `Nada para «${query}»`,
  advice: 'Prueba con menos letras, otra palabra o el código.',
  chosen: (name) => `Elegido: ${name}`,
  notChosen: (query) => `Nada elegido: la lista aún no es de «${query}».`,
  marked: (name) => `Favorito: ${name}`,
  unmarked: (name) => `Ya no es favorito: ${name}`,
  deleted: (name) => `«${name}» ya no está en el catálogo`,
  degraded: 'Búsqueda de reserva: puede faltar algo',
  didYouMean: '¿Querías decir esto?',
  inexact: (name) => `No es exacto: Intro otra vez elige «${name}»`,
  copied: (sku) => `Copiado: ${sku}`,
  more: (count) => `Mostrar ${count} más`,
  failures: {
    offline: 'Sin conexión. Sigo en cuanto vuelva.',
    unreachable: 'No se llega al buscador. Reintentando…',
    unavailable: 'El buscador no responde ahora. Reintentando…',
    refused: 'La búsqueda no es válida.',
    unauthenticated: 'Sin acceso: la clave falta o no es válida.',
    forbidden: 'Sin acceso: esta clave no permite buscar aquí.',
  },
  limited: (seconds) => `Demasiadas búsquedas. Sigo en ${seconds} s.`,
  hints: {
    move: 'moverse',
    choose: 'elegir',
    chooseMore: 'elegir y seguir',
    favourite: 'favorito',
    copy: 'copiar el código',
  },
}
