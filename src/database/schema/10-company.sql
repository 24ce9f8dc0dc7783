-- The company, and the currencies, countries and languages that its quotes can have.

-- Returns the ISO 4217 minor digits of a currency.
create function currency_digits(code text) returns integer
language sql immutable parallel safe strict
return case
  when code in ('BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI',
    'VND', 'VUV', 'XAF', 'XOF', 'XPF') then 0
  when code in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 3
  when code in ('CLF', 'UYW') then 4
  else 2 end;

-- ISO 4217 currencies and their minor digits (JPY 0, EUR 2, KWD 3).
create table currencies (
  -- Alphabetic code, for example EUR. No metals, bond units or test codes.
  code text primary key,
  -- Decimals of an amount. See the function currency_digits.
  digits integer generated always as (currency_digits(code)) stored not null
);

-- Returns the first day on which nobody could quote in a currency that was replaced: the guilder by
-- XCG, the lev by the euro.
create function currency_ended_on(code text) returns date
language sql immutable parallel safe strict
return case code when 'ANG' then make_date(2025, 7, 1) when 'BGN' then make_date(2026, 1, 1) end;

-- Currencies and funds of ISO 4217, without metals, test codes and bond units.
insert into currencies (code) select * from regexp_split_to_table(
  'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP
  BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB
  EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY
  KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR
  MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB
  RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD
  TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG', '\s+');

-- ISO 3166-1 countries, and XK, as Kosovo is known in trade.
create table countries (
  -- Alpha-2 code, such as ES.
  code text primary key
);

insert into countries (code) select * from regexp_split_to_table(
  'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS
  BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE
  EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM
  HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC
  LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
  NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
  SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO
  TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW', '\s+');

-- The languages that a quote may have. scripts/migrate.ts fills it from the files of texts.
create table languages (
  -- ISO 639-1, in lower case.
  code text primary key check (code ~ '^[a-z]{2}$'),
  -- The order in which the languages are listed.
  place integer not null,
  -- The name of value added tax in the language.
  vat_label text not null,
  -- The name of a tax that is no value added tax.
  sales_tax_label text not null,
  -- Why a line has no tax, in words: {reason: {"any": text, "EU": text, "ES": text}}. The keys say
  -- for which countries of the seller a text is: it names the law.
  tax_reasons jsonb not null default '{}'
);

-- Those that a quote may have before scripts/migrate.ts fills the table for the first time.
insert into languages (code, place, vat_label, sales_tax_label) values
  ('es', 1, 'IVA', 'Impuesto'), ('en', 2, 'VAT', 'Sales tax'), ('pt', 3, 'IVA', 'Imposto'),
  ('fr', 4, 'TVA', 'Taxe'), ('it', 5, 'IVA', 'Imposta'), ('de', 6, 'USt.', 'Steuer');

-- The languages that a quote may have, as ISO 639-1.
create function quote_languages() returns text[]
language sql stable parallel safe
return array(select code from languages order by place);

-- The seller, in one row. scripts/migrate.ts writes it from the company file.
create table company (
  the_only_row boolean primary key default true check (the_only_row),
  -- Currency of the statistics. It cannot change: the service does not start with another one.
  base_currency text not null references currencies,
  -- IANA name. Dates are calendar days in this zone. It cannot change, like base_currency.
  time_zone text not null,
  -- Seller block that new quote links freeze.
  seller jsonb not null
);
