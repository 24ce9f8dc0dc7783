// The texts of the quote page and the PDF in Spanish.
import type { QuoteTexts } from './quote-texts-en.ts'

export const es: QuoteTexts = {
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
  netTotal: 'Total neto',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Recargo de equivalencia ${rate}`,
  onBase: (base) => `sobre ${base}`,
  untaxed: 'Sin impuesto',
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
    rendering_too_large: {
      title: 'Este presupuesto es demasiado grande para una página',
      explanation: 'Ábralo en PDF o pídaselo a quien se lo envió.',
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
