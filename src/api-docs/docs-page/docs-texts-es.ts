// The Spanish texts of the page /docs itself, and the introduction to the API in Spanish.
import type { DocsTexts } from './docs-texts-en.ts'

export const docsTextsEs: DocsTexts = {
  version: 'API REST, versión',
  baseUrl: 'URL base',
  document: 'Documento OpenAPI 3.1 (en inglés)',
  contents: 'Contenido',
  endpoints: 'Puntos de acceso',
  basics: 'En todos',
  tryIt: 'Pruébalo',
  tryWithKey: '(con una clave, mediante curl)',
  parameters: 'Parámetros',
  samples: 'Ejemplos de código',
  copy: 'Copiar',
  copied: 'Copiado',
  responses: 'Respuestas',
  allFields: 'Todos los campos',
  headers: 'Cabeceras',
  conventions: 'Convenciones',
  authentication: 'Autenticación',
  limits: 'Límites',
  errors: 'Errores',
  code: 'código',
  status: 'estado',
  meaning: 'significado',
  inPath: 'en la ruta',
  inHeader: 'en la cabecera',
  required: 'obligatorio',
  optional: 'opcional',
  forExample: 'por ejemplo',
  types: { or: 'o', to: 'a', byDefault: 'por defecto', listOf: 'lista de' },
}

/** The texts of api-introduction.ts. */
export const apiIntroductionEs = {
  title: 'Servicio de presupuestos',
  summary:
    'Búsqueda de productos, cifras de los presupuestos y enlaces a presupuestos de una empresa ' +
    'que vende a otras empresas. Solo lectura.',
  conventions: [
    'El dinero es `{ "amount": "1234.50", "currency": "EUR" }`: un texto decimal con las cifras ' +
      'de su moneda. No lo conviertas nunca a un número binario de coma flotante.',
    'Cantidades, tasas y porcentajes son textos decimales. Las fechas (`YYYY-MM-DD`) y los meses ' +
      '(`YYYY-MM`) siguen el calendario de la empresa. Los instantes son RFC 3339 en UTC.',
    'Los países son ISO 3166-1 alfa-2 y las unidades, la recomendación 20 de UN/ECE. Los códigos ' +
      'HS son textos.',
    'En `/api/*` un parámetro desconocido o repetido es un error: un filtro mal escrito nunca se ' +
      'pasa por alto. HEAD funciona donde funciona GET; otros métodos devuelven 405 ' +
      '(`method_not_allowed`).',
    'Los cambios añaden: ignora los campos que no conozcas. Un cambio incompatible se anuncia ' +
      'con las cabeceras `Deprecation` y `Sunset` al menos seis meses antes.',
  ],
  authentication:
    'Envía una *clave secreta* (`tqs_…`) en la cabecera `Authorization: Bearer tqs_…` y guárdala ' +
    'solo en servidores. Una *clave publicable* (`tqp_…`) es para navegadores: solo permite ' +
    'buscar, solo desde los orígenes a los que está ligada, y también se puede enviar como ' +
    '`?key=`. Una clave no válida siempre devuelve 401. Los enlaces a presupuestos no necesitan ' +
    'clave: el token es el secreto.',
  errors:
    'Cada error es un problema de RFC 9457 (`application/problem+json`) con un `code` de una ' +
    'lista cerrada y un `requestId`, que identifica la petición en el registro. ' +
    '`invalid_parameter` nombra en `errors` los parámetros no válidos, 20 como máximo. Sin ' +
    '`errors`, la petición misma está mal formada, y el estado puede ser también 408, 417 o 431.',
  limits:
    'Las peticiones se limitan por clave o, sin clave, por dirección del cliente. Las cabeceras ' +
    '`RateLimit-*` dicen cuántas quedan. Un 429 dice el límite y su periodo. Tras un 429 o un ' +
    '503, espera los segundos de `Retry-After`.',
}
