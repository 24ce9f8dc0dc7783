// The Spanish texts of the palette.

export const paletteTextsEs = {
  title: 'Buscar productos',
  list: 'Productos',
  close: 'Cerrar: esc',
  recent: 'Recientes',
  popular: 'Más presupuestados',
  /** @param {number} shown @param {number} total at most 1000: the search counts no further */
  count: (shown, total) => {
    if (total === 1) return '1 resultado'
    const of = shown < total ? `${shown} de ` : ''
    return `${of}${total >= 1000 ? '1000 o más' : total} resultados`
  },
  /** @param {string} query */
  nothing: (query) => `Nada para «${query}»`,
  advice: 'Prueba con menos letras, otra palabra o el código.',
  /** @param {string} name */
  chosen: (name) => `Elegido: ${name}`,
  /** @param {string} name */
  deleted: (name) => `«${name}» ya no está en el catálogo`,
  degraded: 'Búsqueda de reserva: puede faltar algo',
  failures: {
    offline: 'Sin conexión. Sigo en cuanto vuelva.',
    unreachable: 'No se llega al buscador. Reintentando…',
    unavailable: 'El buscador no responde ahora. Reintentando…',
    unauthenticated: 'Sin acceso: la clave falta o no es válida.',
    forbidden: 'Sin acceso: esta clave no permite buscar aquí.',
  },
  /** @param {number} seconds */
  limited: (seconds) => `Demasiadas búsquedas. Sigo en ${seconds} s.`,
  hints: { move: 'moverse', choose: 'elegir', chooseMore: 'elegir y seguir' },
}

/** @typedef {typeof paletteTextsEs} PaletteTexts */
