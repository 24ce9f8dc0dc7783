// The words of the quote as a page and as a PDF, in Spanish and in English.
import type { SharedQuote } from './schema.ts'

export type Language = 'es' | 'en'
export type Notice =
  | 'not_found'
  | 'link_expired'
  | 'link_revoked'
  | 'rate_limited'
  | 'unavailable'
  | 'not_acceptable'
  | 'internal_error'

type Status = Exclude<SharedQuote['status'], 'sent'>

export type Wording = {
  quote: string
  version: string
  issuedOn: string
  validUntil: string
  total: string
  viewPdf: string
  /** A sent quote needs no banner. */
  status: Record<Status, { label: string; explanation: string }>
  validity: (date: string) => string
  taxId: string
  buyer: string
  attention: string
  lines: string
  position: string
  description: string
  quantity: string
  unitPrice: string
  discount: string
  tax: string
  surcharge: string
  net: string
  sku: string
  hsCode: string
  origin: string
  totals: string
  discounts: string
  netTotal: string
  taxAt: (rate: string) => string
  surchargeAt: (rate: string) => string
  onBase: (base: string) => string
  noTax: string
  terms: string
  incoterms: (edition: string) => string
  delivery: string
  payment: string
  bank: string
  holder: string
  bankAdvice: string
  ibanIsWrong: string
  notes: string
  legal: string
  contentHash: string
  linkExpires: (instant: string) => string
  json: string
  /** "Page 2 of 5", around the numbers. */
  page: { before: string; between: string }
  notices: Record<Notice, { title: string; explanation: string }>
  contact: string
}

const es: Wording = {
  quote: 'Presupuesto',
  version: 'Versión',
  issuedOn: 'Fecha',
  validUntil: 'Válido hasta',
  total: 'Total',
  viewPdf: 'Ver en PDF',
  status: {
    accepted: {
      label: 'Aceptado',
      explanation: 'Este presupuesto está aceptado. Gracias por su confianza.',
    },
    rejected: { label: 'Rechazado', explanation: 'Este presupuesto consta como rechazado.' },
    expired: { label: 'Vencido', explanation: 'Si todavía le interesa, pídanos uno actualizado.' },
    superseded: {
      label: 'Sustituido',
      explanation:
        'Este presupuesto ya no está vigente: lo sustituye otro. Si no lo tiene, pídanoslo.',
    },
  },
  validity: (date) => `Fue válido hasta el ${date}.`,
  taxId: 'NIF',
  buyer: 'Cliente',
  attention: 'A la atención de',
  lines: 'Detalle',
  position: 'N.º',
  description: 'Descripción',
  quantity: 'Cantidad',
  unitPrice: 'Precio',
  discount: 'Dto.',
  tax: 'IVA',
  surcharge: 'Recargo',
  net: 'Importe',
  sku: 'Ref.',
  hsCode: 'Código arancelario',
  origin: 'Origen',
  totals: 'Totales',
  discounts: 'Descuentos, ya aplicados',
  netTotal: 'Total neto',
  taxAt: (rate) => `IVA ${rate}`,
  surchargeAt: (rate) => `Recargo de equivalencia ${rate}`,
  onBase: (base) => `sobre ${base}`,
  noTax: 'Sin impuestos indicados',
  terms: 'Condiciones',
  incoterms: (edition) => `Incoterms® ${edition}`,
  delivery: 'Entrega',
  payment: 'Forma de pago',
  bank: 'Cuenta bancaria',
  holder: 'Titular',
  bankAdvice:
    'Si recibe un aviso de que nuestra cuenta ha cambiado, confírmelo con nosotros por teléfono antes de pagar:',
  ibanIsWrong:
    'Los dígitos de control de este IBAN no cuadran. No pague sin confirmarlo por teléfono.',
  notes: 'Observaciones',
  legal: 'Menciones legales',
  contentHash: 'Huella SHA-256 del contenido',
  linkExpires: (instant) => `Este enlace funciona hasta el ${instant}.`,
  json: 'Datos en JSON',
  page: { before: 'Página', between: 'de' },
  notices: {
    not_found: {
      title: 'Aquí no hay ningún presupuesto',
      explanation:
        'Compruebe que el enlace está completo, tal como lo recibió. Si sigue sin abrirse, pida otro a quien se lo envió.',
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
        'El presupuesto no se ofrece en el formato pedido. Ábralo con el enlace tal como lo recibió.',
    },
    internal_error: {
      title: 'Algo ha fallado',
      explanation:
        'El error es nuestro y ha quedado registrado. Vuelva a intentarlo dentro de unos instantes.',
    },
  },
  contact: 'Contacto',
}

const en: Wording = {
  quote: 'Quotation',
  version: 'Version',
  issuedOn: 'Date',
  validUntil: 'Valid until',
  total: 'Total',
  viewPdf: 'View as PDF',
  status: {
    accepted: {
      label: 'Accepted',
      explanation: 'This quotation has been accepted. Thank you for your trust.',
    },
    rejected: { label: 'Rejected', explanation: 'This quotation is recorded as rejected.' },
    expired: {
      label: 'Expired',
      explanation: 'If you are still interested, ask us for an updated one.',
    },
    superseded: {
      label: 'Superseded',
      explanation:
        'This quotation no longer stands: another one replaces it. If you do not have it, ask us.',
    },
  },
  validity: (date) => `It was valid until ${date}.`,
  taxId: 'Tax ID',
  buyer: 'Customer',
  attention: 'For the attention of',
  lines: 'Items',
  position: 'No.',
  description: 'Description',
  quantity: 'Quantity',
  unitPrice: 'Unit price',
  discount: 'Disc.',
  tax: 'VAT',
  surcharge: 'Surcharge',
  net: 'Amount',
  sku: 'Ref.',
  hsCode: 'HS code',
  origin: 'Origin',
  totals: 'Totals',
  discounts: 'Discounts, already applied',
  netTotal: 'Net total',
  taxAt: (rate) => `VAT ${rate}`,
  surchargeAt: (rate) => `Equivalence surcharge ${rate}`,
  onBase: (base) => `on ${base}`,
  noTax: 'No tax stated',
  terms: 'Terms',
  incoterms: (edition) => `Incoterms® ${edition}`,
  delivery: 'Delivery',
  payment: 'Payment',
  bank: 'Bank account',
  holder: 'Account holder',
  bankAdvice:
    'If you are told that our account has changed, confirm it with us by phone before you pay:',
  ibanIsWrong: 'The check digits of this IBAN are wrong. Do not pay before confirming it by phone.',
  notes: 'Notes',
  legal: 'Legal information',
  contentHash: 'SHA-256 fingerprint of the content',
  linkExpires: (instant) => `This link works until ${instant}.`,
  json: 'Data as JSON',
  page: { before: 'Page', between: 'of' },
  notices: {
    not_found: {
      title: 'There is no quotation here',
      explanation:
        'Check that the link is complete, as you received it. If it still does not open, ask whoever sent it for another one.',
    },
    link_expired: {
      title: 'This link has expired',
      explanation: 'It no longer opens the quotation. Ask us for a new link.',
    },
    link_revoked: {
      title: 'This link was withdrawn',
      explanation: 'It no longer opens the quotation. Ask us for a new link.',
    },
    rate_limited: {
      title: 'Too many requests',
      explanation: 'Wait a minute, then load the page again.',
    },
    unavailable: {
      title: 'Not available at the moment',
      explanation: 'The quotation cannot be read now. Try again in a moment.',
    },
    not_acceptable: {
      title: 'Format not available',
      explanation:
        'The quotation is not offered in the format that was asked for. Open it with the link as you received it.',
    },
    internal_error: {
      title: 'Something went wrong',
      explanation: 'The fault is ours and has been recorded. Try again in a moment.',
    },
  },
  contact: 'Contact',
}

export const wording: Record<Language, Wording> = { es, en }
