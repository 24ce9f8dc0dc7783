// The summaries and descriptions of the operations in Spanish, for /docs.

type Translation = {
  /** The hash of the English text. A test compares it with the current text. */
  translatedFrom: string
  summary: string
  description: string
}

/** The texts by operation id. The Markdown is that of markdown.ts. */
export const spanishOperations: Record<string, Translation> = {
  searchProducts: {
    translatedFrom: '2ffc1eb620ba',
    summary: 'Buscar productos mientras se escribe',
    description: `Búsqueda de productos a medida que se escribe: para una paleta (Ctrl+K), un ERP
o un CRM.

* Las palabras admiten erratas; los códigos, no: SKU, códigos HS y números deben ser exactos, y
  «2024» nunca encuentra «2025».
* Un SKU se encuentra con cualquier separador, en mayúsculas o minúsculas y desde el medio
  («742x»). Un SKU exacto es siempre el primer resultado.
* \`category\` y \`brand\` no distinguen mayúsculas, y \`facets\` cuenta juntas esas grafías.
* La última palabra es un prefijo. Las palabras coinciden con y sin acentos.
* Las palabras del oficio en español e inglés y los sinónimos de la empresa se encuentran entre
  sí. Los productos que la empresa ha fijado para esa misma consulta van justo detrás de un SKU
  exacto, antes que todos los demás resultados. Los sinónimos y los productos fijados valen también
  cuando contesta PostgreSQL.
* Con \`q\` vacío devuelve todos los productos, primero los más presupuestados de los últimos 12
  meses, para mostrarlos al abrir una paleta.
* Mientras el motor de búsqueda está lento o no responde, contesta PostgreSQL con la misma forma y
  \`meta.degraded\` es true. Atiende pocas búsquedas a la vez: repite un 503 tras \`Retry-After\`.

* \`sku=A&sku=B\` pide en cambio hasta 100 SKU exactos, para integraciones: \`bySku\` tiene el
  producto de cada uno, en ese orden, o null. Contesta PostgreSQL con lo confirmado. No hace falta
  motor de búsqueda.

Cancela la búsqueda cuando se pulse la tecla siguiente: el servicio cancela entonces su trabajo.

Necesita el permiso \`search:read\`.`,
  },
  readStats: {
    translatedFrom: 'eff14bf57c3e',
    summary: 'Cifras de los presupuestos: números, importes, aceptación y días, por país y por mes',
    description: `Cifras de los presupuestos para paneles y ERP: números e importes por estado,
tasas de aceptación, ingresos y días hasta la decisión, por país y por mes. Los importes son
exactos al céntimo. Los números e importes por país, mes, día y cliente suman el
total.

* Los ingresos son el neto (sin impuestos) de los presupuestos aceptados, en la moneda base. Cada
  presupuesto se convierte con su propio cambio y se redondea (la mitad, hacia arriba) antes de
  sumar. Los presupuestos sin cambio no entran en ningún importe en moneda base;
  \`revenue.unconverted\` los lista.
* \`money\` es el neto en la moneda base por resultado: \`open\` de los enviados que hoy siguen
  siendo válidos, \`won\` de los aceptados (lo mismo que los ingresos), \`lost\` de los rechazados
  y caducados.
* \`acceptance\` es la proporción de presupuestos que se aceptaron: de todos salvo los borradores
  (\`ofSent\`), y de los que ya no están abiertos (\`ofDecided\`). \`ofSentValue\` y
  \`ofDecidedValue\` son lo mismo por valor.
* \`daysToDecision\` es la media y la mediana de los días entre la emisión y la decisión, en los
  presupuestos aceptados y rechazados cuyo día de decisión se conoce. Por fecha de emisión, los
  meses más recientes solo contienen presupuestos que se decidieron pronto.
* Los días son los locales de la empresa (\`period.timeZone\`). El periodo incluye sus dos
  extremos. Un presupuesto enviado cuenta como caducado desde el día siguiente al último de su
  validez.
* \`country\` y \`currency\` filtran: cada número cubre solo esos presupuestos. Con
  \`currency=USD\`, \`revenue.total\` son los ingresos de los presupuestos en USD, convertidos a
  la moneda base.
* \`by=customer\` agrupa todos los presupuestos por cliente. \`by=product\` agrupa por SKU las
  líneas de los presupuestos aceptados. El neto de las líneas se convierte con el cambio del
  presupuesto y se redondea por producto, así que la suma de todos los productos puede diferir de
  los ingresos en céntimos.
* Un cambio confirmado se ve antes de dos segundos, salvo si \`Cache-Status\` dice
  \`fwd=stale\`. En ese caso, \`asOf\` y \`Age\` indican la antigüedad de los datos. Las cifras
  contienen todo cambio confirmado antes de \`asOf\`, que avanza aunque nada cambie.
* Consulta con \`If-None-Match\`: un 304 es barato. El \`ETag\` es débil porque no depende de
  \`asOf\`. Tras un 304, las cifras que tienes están al día a fecha de
  \`Date\` menos \`Age\`.
* \`text/csv\` tiene las mismas cifras en forma larga. Las filas del periodo, de países, meses y
  días llenan todas las columnas; \`revenue\` es el importe ganado. Las demás filas solo llenan las
  columnas que les corresponden. No sumes una columna con todas las dimensiones: filtra antes por
  \`dimension\`. Las de \`acceptance\` y \`change\` contienen proporciones, también en las columnas
  \`quotes\`, \`accepted\` y \`revenue\`. \`locale=es\` usa punto y coma, y coma decimal.
* En CSV, \`by\` añade filas con la dimensión \`day\`, \`customer\` o \`product\`. Los clientes y
  los productos añaden además tres columnas (\`name\`, \`lines\`, \`unconverted\`), y su resto es
  una fila con la dimensión \`otherCustomers\` u \`otherProducts\`, cuya clave es cuántos son.

Necesita el permiso \`stats:read\`.`,
  },
  openSharedQuote: {
    translatedFrom: '5e9d0305896e',
    summary: 'Un presupuesto abierto desde un enlace: página, JSON o PDF',
    description: `El presupuesto que un cliente abre desde un enlace, sin iniciar sesión: el token
es el secreto. La respuesta es por defecto una página. Pide JSON o un PDF con \`Accept\` o
\`?format=\`.

* El contenido de un enlace se congela cuando se crea el enlace, y \`contentHash\` lo demuestra.
  Solo \`status\` y \`link\` muestran el estado actual.
* La página y el PDF de un presupuesto rechazado, caducado o sustituido no muestran ninguna cuenta
  bancaria.
* Un enlace desconocido o mal formado, un borrador y un presupuesto borrado devuelven el mismo
  404. Un enlace caducado o retirado devuelve 410 con el contacto del vendedor y nada del
  presupuesto.
* Los parámetros desconocidos se ignoran, porque los programas de correo añaden los suyos. Un
  parámetro repetido cuenta una vez, con su primer valor.
* Quien pide la página recibe los errores como página, en su idioma.`,
  },
}
