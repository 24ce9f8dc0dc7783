// The Spanish texts of the pages, the PDF and the palette.
import type { DashboardTexts, HomeTexts, PaletteTexts, QuoteTexts } from './en.ts'

export const locale = 'es-ES'
export const name = 'Español'

/** The quote page, its error pages and the PDF. */
export const quotes: QuoteTexts = {
  quote: 'Presupuesto',
  language: 'Idioma',
  version: 'Versión',
  replaces: 'Sustituye a las versiones anteriores',
  issuedOn: 'Fecha',
  validUntil: 'Válido hasta',
  firstOfMonth: null,
  total: 'Total',
  viewPdf: 'Ver en PDF',
  status: {
    accepted: {
      label: 'Aceptado',
      explanation:
        'Este presupuesto está aceptado. Gracias por su confianza. Si tiene alguna pregunta, ' +
        'póngase en contacto con nosotros.',
    },
    rejected: {
      label: 'Rechazado',
      explanation:
        'Este presupuesto consta como rechazado. Si ha cambiado de opinión, pídanos uno ' +
        'actualizado.',
    },
    expired: { label: 'Vencido', explanation: 'Si todavía le interesa, pídanos uno actualizado.' },
    withdrawn: {
      label: 'Retirado',
      explanation: 'Hemos retirado este presupuesto. Si le interesa, pídanos uno nuevo.',
    },
    superseded: {
      label: 'Sustituido',
      explanation:
        'Este presupuesto ya no está vigente: lo sustituye otro. Si no lo tiene, pídanoslo.',
    },
  },
  validity: (date) => `Fue válido hasta el ${date}.`,
  taxId: 'NIF',
  vatNumber: 'N.º IVA',
  taxNumber: 'N.º fiscal',
  buyer: 'Cliente',
  attention: 'A la atención de',
  lines: 'Detalle',
  position: 'N.º',
  description: 'Descripción',
  quantity: 'Cantidad',
  unitPrice: 'Precio',
  discount: 'Dto.',
  tax: 'IVA',
  salesTax: 'Impuesto',
  surcharge: 'Recargo',
  net: 'Importe',
  sku: 'Ref.',
  hsCode: 'Código arancelario',
  origin: 'Origen',
  carriedForward: 'Suma y sigue',
  broughtForward: 'Suma anterior',
  totals: 'Totales',
  jumpToTotal: 'Ir al total',
  discounts: 'Descuentos, ya aplicados',
  optional: 'Opcional, no incluido en el total',
  subtotal: 'Subtotal',
  globalDiscount: 'Descuento',
  netTotal: 'Total neto',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Recargo de equivalencia ${rate}`,
  onBase: (base) => `sobre ${base}`,
  untaxed: 'Sin impuesto',
  withheld: 'Retención',
  amountDue: 'Importe a pagar',
  noTax: 'Sin impuestos indicados',
  taxReasons: {
    intra_community_goods: 'Entrega intracomunitaria exenta de IVA',
    intra_community_service:
      'Inversión del sujeto pasivo: servicio intracomunitario, el IVA lo liquida el destinatario',
    export: 'Exportación exenta de IVA',
    canary_islands: 'Envío a Canarias, Ceuta o Melilla, exento de IVA',
    reverse_charge: 'Inversión del sujeto pasivo: el IVA lo liquida el destinatario',
    exempt: 'Operación exenta de IVA',
    not_subject: 'Operación no sujeta a IVA: se localiza en el país del destinatario',
    small_business: 'Exento de IVA por el régimen de franquicia de las pequeñas empresas',
  },
  law: { article: 'art.', spanish: 'Ley 37/1992', european: 'Directiva 2006/112/CE' },
  terms: 'Condiciones',
  incoterms: (edition) => `Incoterms® ${edition}`,
  delivery: 'Entrega',
  payment: 'Forma de pago',
  bank: 'Cuenta bancaria',
  holder: 'Titular',
  bankAdvice:
    'Si recibe un aviso de que nuestra cuenta ha cambiado, confírmelo con nosotros por teléfono ' +
    'antes de pagar:',
  ibanIsWrong:
    'Los dígitos de control de este IBAN no cuadran. No pague sin confirmarlo por teléfono.',
  reference: 'Concepto',
  selectToCopy: 'Un clic selecciona el dato entero, para copiarlo.',
  sepaQr: 'Escanéelo con la aplicación de su banco para rellenar la transferencia',
  notes: 'Observaciones',
  legal: 'Menciones legales',
  ofLines: (positions, count) => `${count === 1 ? 'Línea' : 'Líneas'} ${positions}`,
  contentHash: 'Huella SHA-256 del contenido',
  compareHash:
    'La página del enlace y el PDF muestran la misma huella. Si no coinciden, el PDF se ha ' +
    'cambiado: no pague sin confirmar la cuenta con nosotros por teléfono.',
  linkExpires: (instant) => `Este enlace funciona hasta el ${instant}.`,
  json: 'Datos en JSON',
  pageNumber: { before: 'Página', between: 'de' },
  reply: {
    title: 'Responder por correo',
    accept: 'Aceptar',
    ask: 'Hacer una pregunta',
    renew: 'Pedir uno actualizado',
    acceptSubject: (number) => `Acepto el presupuesto ${number}`,
    acceptBody: (number, version, total) =>
      `Acepto el presupuesto ${number}, versión ${version}, por un total de ${total}.`,
    askSubject: (number) => `Pregunta sobre el presupuesto ${number}`,
    renewSubject: (number) => `Solicitud de actualización del presupuesto ${number}`,
  },
  errors: {
    not_found: {
      title: 'Aquí no hay ningún presupuesto',
      explanation:
        'Compruebe que el enlace está completo, tal como lo recibió. Si sigue sin abrirse, pida ' +
        'otro a quien se lo envió.',
    },
    link_expired: {
      title: 'Este enlace ha caducado',
      explanation: 'El presupuesto ya no se puede abrir con él. Pídanos un enlace nuevo.',
    },
    link_revoked: {
      title: 'Este enlace se ha retirado',
      explanation: 'El presupuesto ya no se puede abrir con él. Pídanos un enlace nuevo.',
    },
    rate_limited: {
      title: 'Demasiadas peticiones seguidas',
      explanation: 'Espere un minuto y vuelva a cargar la página.',
    },
    unavailable: {
      title: 'No disponible en este momento',
      explanation:
        'El presupuesto no se puede leer ahora. Vuelva a intentarlo dentro de unos instantes.',
    },
    not_acceptable: {
      title: 'Formato no disponible',
      explanation:
        'El presupuesto no se ofrece en el formato pedido. Ábralo con el enlace tal como lo ' +
        'recibió.',
    },
    wrong_request: {
      title: 'Esta petición no se puede atender',
      explanation: 'Abra el presupuesto con el enlace tal como lo recibió.',
    },
    pdf_unsupported: {
      title: 'Este presupuesto no tiene PDF',
      explanation:
        'Contiene caracteres que el PDF no puede mostrar bien. Abra la página e imprímala, o ' +
        'guárdela como PDF con la función de impresión de su navegador.',
    },
    pdf_unavailable: {
      title: 'No se ha podido preparar el documento',
      explanation:
        'Es demasiado grande o hay mucha demanda. Inténtelo más tarde. La página se puede ' +
        'imprimir o guardar como PDF con la función de impresión de su navegador.',
    },
    pending: {
      title: 'Estamos preparando el documento',
      explanation: 'Es grande o hay mucha demanda. Estará listo en unos segundos.',
    },
    internal_error: {
      title: 'Algo ha fallado',
      explanation:
        'El error es nuestro y ha quedado registrado. Vuelva a intentarlo dentro de unos ' +
        'instantes.',
    },
  },
  contact: 'Contacto',
  tryAgain: 'Intentarlo de nuevo',
  openPage: 'Abrir la página del presupuesto',
  units: {
    piece: ['ud.', 'uds.'],
    pair: ['par', 'pares'],
    dozen: ['docena', 'docenas'],
    hundred: ['ciento', 'cientos'],
    thousand: ['millar', 'millares'],
    set: ['juego', 'juegos'],
    pack: ['paquete', 'paquetes'],
    box: ['caja', 'cajas'],
    carton: ['cartón', 'cartones'],
    bag: ['bolsa', 'bolsas'],
    sack: ['saco', 'sacos'],
    bottle: ['botella', 'botellas'],
    pallet: ['palé', 'palés'],
    roll: ['rollo', 'rollos'],
    day: ['día', 'días'],
    workingDay: ['jornada', 'jornadas'],
    week: ['semana', 'semanas'],
    month: ['mes', 'meses'],
    year: ['año', 'años'],
    service: ['servicio', 'servicios'],
    lumpSum: ['partida alzada', 'partidas alzadas'],
  },
}

/** The page /dashboard. Its script fills in the {placeholders}. */
export const dashboard: DashboardTexts = {
  title: 'Cifras',
  heading: 'Presupuestos e ingresos',
  filters: 'Filtros',
  period: 'Periodo',
  presets: { month: 'Este mes', year: 'Este año', '12m': '12 meses', all: 'Todo' },
  previousPeriod: 'Periodo anterior',
  nextPeriod: 'Periodo siguiente',
  from: 'Desde',
  to: 'Hasta',
  country: 'País',
  allCountries: 'Todos los países',
  allCurrencies: 'Todas las divisas',
  unknownCountry: 'Sin país',
  dateKind: 'Fecha que cuenta',
  dateKinds: { issued: 'Por fecha de emisión', accepted: 'Por fecha de aceptación' },
  compare: 'Comparación',
  comparisons: {
    none: 'Sin comparar',
    previous_period: 'Con el periodo anterior',
    previous_year: 'Con el año anterior',
  },
  csv: 'CSV',
  csvTitle: 'Descargar estas cifras en CSV',
  print: 'Imprimir',
  forgetKey: 'Olvidar la clave',
  needsScript: 'Esta página necesita JavaScript. Las mismas cifras están en',
  updated: 'Al día · datos de las {time}',
  notUpdated: 'Sin actualizar · {time} ({age})',
  comparedWith: 'Comparado con {period}',
  previousValue: 'antes {value}',
  points: '{points} p. p.',
  revenue: 'Ingresos',
  netOfAccepted: 'Neto de lo aceptado',
  withoutRate: {
    one: 'Falta {count} presupuesto sin tipo de cambio',
    other: 'Faltan {count} presupuestos sin tipo de cambio',
  },
  quotes: 'Presupuestos',
  accepted: 'Aceptados',
  open: 'Pendiente',
  sentAndValid: 'Enviados y vigentes: {count}',
  lost: 'Perdido',
  rejectedAndExpired: 'Rechazados y vencidos: {count}',
  acceptance: 'Aceptación',
  ofDecided: 'de decididos',
  ofSent: 'de enviados',
  byNumber: 'Por número',
  byValue: 'Por importe',
  outOf: '{part} de {whole}',
  daysToDecision: 'Días hasta la decisión',
  median: 'Mediana',
  mean: 'Media',
  medianAndMean: 'Mediana; la media es {mean}',
  decidedOnKnownDay: 'Con fecha de decisión: {count}',
  average: 'Importe medio',
  perAccepted: 'Por presupuesto aceptado',
  loading: 'Cargando…',
  trail: 'Ruta',
  timeline: 'Evolución',
  days: 'Días',
  months: 'Meses',
  years: 'Años',
  table: 'Tabla',
  byDay: 'Presupuestos e ingresos por día',
  byMonth: 'Presupuestos e ingresos por mes',
  byYear: 'Presupuestos e ingresos por año',
  day: 'Día',
  month: 'Mes',
  year: 'Año',
  partial: 'parcial',
  partialLegend: 'Incompleto',
  otherQuotes: 'Otros',
  revenueChartLabel:
    'Columnas de los ingresos en {currency}, de {from} a {to}. La tabla que sigue dice lo mismo.',
  quotesChartLabel:
    'Columnas de los presupuestos aceptados y los demás, de {from} a {to}. ' +
    'La tabla que sigue dice lo mismo.',
  quotesInPeriod: 'Presupuestos: {quotes}, de ellos aceptados: {accepted}',
  byCountry: 'Por país',
  showAll: 'Mostrar los {count}',
  columns: 'Columnas',
  columnGroups: {
    revenue: 'Ingresos',
    outcomes: 'Pendiente y perdido',
    acceptance: 'Aceptación',
    days: 'Días',
  },
  amountsIn: 'Importes en {currency}',
  acceptanceOfDecided: 'Aceptación de decididos',
  byStatus: 'Por estado',
  statusHeading: 'Estado',
  share: '%',
  status: {
    draft: 'Borrador',
    sent: 'Enviado',
    accepted: 'Aceptado',
    rejected: 'Rechazado',
    expired: 'Vencido',
    withdrawn: 'Retirado',
  },
  acceptedOnlyNote: 'Por fecha de aceptación solo cuentan los aceptados',
  byCurrency: 'Por divisa',
  currency: 'Divisa',
  amount: 'Importe sin convertir',
  ofWhichUnconverted: 'sin tipo de cambio',
  currenciesNote: 'Lo que no tiene tipo de cambio no está en los ingresos en {currency}.',
  breakdown: {
    heading: 'Clientes y productos',
    customers: 'Clientes',
    customer: 'Cliente',
    noCustomer: 'Sin cliente',
    otherCustomers: {
      one: '{count} cliente más',
      other: '{count} clientes más',
    },
    products: 'Productos de presupuestos aceptados',
    product: 'Producto',
    noSku: 'Sin referencia',
    otherProducts: {
      one: '{count} producto más',
      other: '{count} productos más',
    },
    lines: 'Líneas',
    linesWithoutRate: {
      one: 'Falta {count} línea sin tipo de cambio',
      other: 'Faltan {count} líneas sin tipo de cambio',
    },
  },
  searches: {
    heading: 'Qué se busca',
    summary: {
      one: 'Últimos {days} días: {searches} búsqueda, {withoutResult} sin resultado.',
      other: 'Últimos {days} días: {searches} búsquedas, {withoutResult} de ellas sin resultado.',
    },
    frequent: 'Más frecuentes',
    unsuccessful: 'Sin resultado',
    words: 'Palabras que no tiene ningún producto',
    text: 'Texto',
    count: 'Búsquedas',
    none: 'Ninguna que hayan buscado cinco personas.',
    note: 'Un texto aparece cuando lo han buscado cinco personas distintas.',
  },
  definitionsTitle: 'Definiciones',
  definedTerms: {
    revenue: 'Ingresos:',
    open: 'Pendiente:',
    lost: 'Perdido:',
    acceptance: 'Aceptación:',
    days: 'Días hasta la decisión:',
  },
  definitions: {
    revenue:
      'importe neto de los presupuestos aceptados, cada uno convertido con su tipo de cambio.',
    open:
      'importe neto de los presupuestos enviados que siguen vigentes hoy, ' +
      'sin los que no tienen tipo de cambio.',
    lost:
      'importe neto de los presupuestos rechazados o vencidos, también de los enviados cuya ' +
      'validez ha terminado, sin los que no tienen tipo de cambio.',
    acceptance:
      'parte aceptada, por número de presupuestos y por importe neto, de los decididos ' +
      '(aceptados, rechazados y vencidos) y de los enviados (los decididos y los pendientes).',
    days:
      'días entre la emisión y la decisión de los presupuestos aceptados o rechazados con fecha ' +
      'de decisión; la mitad se decidió en la mediana o antes.',
  },
  noRows: 'Nada en este periodo.',
  noQuotes: 'No hay presupuestos en este periodo.',
  showEverything: 'Ver todo',
  announcement: '{period}. Presupuestos: {quotes}. Ingresos: {revenue}',
  retry: 'Reintentar ahora',
  retryIn: 'Se reintenta en {seconds} s.',
  errors: {
    keyInvalid: 'Esa clave no vale: es desconocida, está caducada o se retiró.',
    scopeMissing: 'Esa clave no tiene el permiso stats:read.',
    invalidFilter: 'Hay un filtro que no vale: {parameters}.',
    limited: 'Demasiadas consultas con esta clave o desde su dirección.',
    unavailable: 'El servicio no responde ahora.',
    offline: 'Sin conexión.',
    failed: 'El servicio no pudo responder.',
  },
  keyHeading: 'Estas cifras piden una clave',
  keyExplanation:
    'Una clave secreta (tqs_…) con el permiso stats:read; la da quien lleva el servicio. ' +
    'Se guarda solo en esta pestaña, hasta cerrarla.',
  key: 'Clave',
  useKey: 'Ver las cifras',
  cancel: 'Cancelar',
  needsDetailScope: 'Hace falta una clave con el permiso stats:detail.',
  enterKey: 'Introducir una clave',
}

/** The page /. Its script fills in the {placeholders}. */
export const home: HomeTexts = {
  heading: 'Buscar, medir, presupuestar',
  intro:
    'Tres cosas sobre el catálogo y los presupuestos, funcionando aquí mismo con los datos de ' +
    'este servicio, y el código para tenerlas en tus páginas y programas.',
  needsScript: 'Lo vivo de esta página necesita JavaScript; los ejemplos de código valen sin él.',
  copy: 'Copiar',
  copied: 'Copiado',
  responseSample: 'La respuesta',
  docs: 'Documentación de la API',
  search: {
    title: 'Buscar productos',
    text:
      'A cada tecla, con erratas, sinónimos y códigos exactos. Ctrl+K (⌘K) la abre desde ' +
      'cualquier sitio.',
    label: 'Producto, palabra o código',
    placeholder: 'Prueba «jumbo strage bag», «taladro» o «85123a»',
    chosen: 'Elegido: {name} · {sku} · {price}',
    noPrice: 'sin precio',
    tag: 'En tu página: una etiqueta, desde cualquier origen de su clave',
    pinnedTag: 'O exactamente esta versión, que se cambia con cada actualización',
    keyOfService:
      'La clave de aquí es para páginas de {origin}. Para las tuyas, crea una con su origen:',
    noKey: 'Crea una clave para el origen de tu página:',
    createKey: 'Una clave para tu origen',
    curl: 'Desde un programa',
  },
  stats: {
    title: 'Cifras',
    text: 'Presupuestos, aceptación e ingresos, exactos al céntimo y al día en dos segundos.',
    open: 'Abrir las cifras',
    needsKey: 'Aquí las cifras piden una clave con el permiso stats:read: el panel la pregunta.',
    unavailable: 'Las cifras no responden ahora.',
    curl: 'Desde un programa',
  },
  quote: {
    title: 'Presupuesto por enlace',
    text:
      'El cliente lo abre sin cuenta: página, PDF o JSON. Lo que se envió no cambia aunque ' +
      'cambie la base de datos.',
    open: 'Abrir el presupuesto',
    unavailable: 'El presupuesto no se puede leer ahora.',
    none: 'Aquí no se muestra ninguno. Un enlace se crea así:',
    curl: 'El mismo, en JSON o en PDF',
  },
}

/** The palette. */
export const palette: PaletteTexts = {
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
