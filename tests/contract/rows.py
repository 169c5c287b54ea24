"""The field tables of the contract, row by row, written down from it and from nothing else in this project.

`field_table.py` explains the columns. The numbers are those of the fields in the contract's tables, counted there;
a row that is lost here, or given twice, does not agree with them.
"""

from .field_table import Table

QUICK_INVOICE = Table(
    "quickinvoice",
    counted=43,
    text="""
        id                                 id             24-36   -     no        no    yes
        location_id                        id             24-36   1-36  required  no?   yes
        contact_id                         id             24-36   1-36  yes       yes?  yes
        contact_api_id                     alias          1-64    -     yes       yes?  no
        quick_invoice_api_id               own-id         0-64    -     yes       no?   -
        invoice_number                     text           0-64    -     yes       yes?  yes
        title                              text           1-64    -     required  yes   yes
        item_header                        text           0-250   -     yes       yes?  yes
        item_footer                        text           0-250   -     yes       yes?  yes
        item_list                          items          5-4000  -     required  yes   yes
        amount_due                         money          10,2    -     no        no    yes
        remaining_balance                  money          10,2    -     no        no    yes
        due_date                           date           -       -     required  yes   yes
        expire_date                        date           -       -     yes       yes?  yes
        status_id                          integer:0,1,2  -       -     yes?      yes?  yes
        payment_status_id                  integer:1,2,3  -       -     no        no    yes
        allow_partial_pay                  flag           -       -     yes       yes?  yes
        allow_overpayment                  flag           -       -     yes       no?   -
        email                              text           5-128   -     yes       yes?  yes
        cell_phone                         text           1-10    -     yes       no?   -
        send_text_to_pay                   flag           -       -     yes       no?   -
        send_email                         flag           -       -     yes       no    -
        notification_days_before_due_date  integer        1-2     -     yes       yes?  yes
        notification_on_due_date           flag           -       -     yes       yes?  yes
        notification_days_after_due_date   integer        1-2     -     yes       yes?  yes
        notification_email                 text           -       -     no?       no?   -
        note                               text           0-200   -     yes       yes?  -
        attach_files_to_email              flag           -       -     yes       yes?  -
        files                              files          -       -     yes       no    -
        tags                               texts          -       -     yes       no?   -
        cc_product_transaction_id          id             24-36   1-36  yes       yes   yes
        ach_product_transaction_id         id             24-36   1-36  yes       yes   yes
        customer_id                        text           0-64    -     yes       no?   -
        dl_number                          text           1-50    -     yes       no?   -
        dl_state                           text           2       -     yes       no?   -
        ssn4                               digits         4       -     yes       no?   -
        dob_year                           digits         4       -     yes       no?   -
        is_active                          flag           -       -     no        no    yes
        active                             flag           -       -     no        no    -
        created_ts                         moment         -       -     no        no    yes
        modified_ts                        moment         -       -     no        no    yes
        created_user_id                    text           -       -     no        no    yes
        modified_user_id                   text           -       -     no        no    yes
    """,
    beyond="""
        single_payment_min_amount          money          -       10,2  yes?      no?   -
        single_payment_max_amount          money          -       10,2  yes?      no?   -
        transactions                       list           -       -     no?       no?   -
    """,
)

PAYLINK = Table(
    "paylink",
    counted=22,
    text="""
        id                                           id                            24-36  -     no         no    yes
        location_id                                  id                            24-36  1-36  required?  no?   yes
        cc_product_transaction_id                    id                            24-36  1-36  yes        yes   yes
        ach_product_transaction_id                   id                            24-36  1-36  yes        yes   yes
        paylink_api_id                               own-id                        0-64   -     yes        yes?  yes
        contact_id                                   id                            24-36  1-36  yes        yes?  yes
        contact_api_id                               alias                         1-64   -     yes        yes?  no
        amount_due                                   money                         10,2   -     required?  no?   yes
        cell_phone                                   text                          1-10   -     yes        yes?  yes
        email                                        text                          5-128  -     yes        yes?  yes
        description                                  text                          -      -     yes?       yes?  yes
        expire_date                                  date                          -      -     yes        yes?  yes
        delivery_method                              integer:0,1,2,3               1      -     yes        yes?  yes
        paylink_action                               text:sale,auth-only,authonly  0-10   -     yes        yes?  yes
        display_product_transaction_receipt_details  flag                          -      -     yes        yes?  yes
        display_billing_fields                       flag                          -      -     yes        yes?  yes
        status_id                                    integer:0,1                   -      -     no?        no?   yes
        active                                       flag                          -      -     no         no    yes
        created_ts                                   moment                        -      -     no         no    yes
        modified_ts                                  moment                        -      -     no         no    yes
        created_user_id                              text                          -      -     no         no    yes
        modified_user_id                             text                          -      -     no         no    yes
    """,
)

ACCOUNT_VAULT = Table(
    "accountvault",
    counted=41,
    text="""
        id                             id                            24-36  -      no        no    yes
        payment_method                 text:cc,ach                   2-3    -      required  no?   yes
        title                          text                          1-16   1-64   yes       yes?  yes
        account_holder_name            text                          1-32   1-60   yes       yes?  yes
        account_number                 secret                        4-19   -      yes       no?   no
        exp_date                       digits                        4      -      yes       yes?  yes
        account_type                   text:checking,savings         1-32   -      yes       yes?  yes
        routing                        secret                        9      -      yes       no?   null
        is_company                     flag                          -      -      yes       yes?  -
        ach_sec_code                   text:WEB,PPD,CCD,TEL,POP,C21  3      -      yes       yes?  yes
        first_six                      text                          6      -      no        no    yes
        last_four                      text                          4      -      no        no    yes
        expiring_in_months             integer                       -      -      no        no    yes
        has_recurring                  flag                          -      -      no        no    yes
        location_id                    id                            24-36  1-36   required  no?   yes
        contact_id                     id                            24-36  1-36   yes       yes?  yes
        account_vault_api_id           own-id                        1-36   0-36   yes       yes?  yes
        billing_address                text                          1-32   -      yes       yes?  yes
        billing_city                   text                          1-36   -      yes       yes?  yes
        billing_state                  text                          2      2-26   yes       yes?  yes
        billing_zip                    text                          5-10   4-12   yes       yes?  yes
        billing_phone                  text                          1-10   -      yes       yes?  yes
        accountvault_c1                text                          0-128  -      yes       yes?  yes
        accountvault_c2                text                          0-128  -      yes       yes?  yes
        accountvault_c3                text                          0-128  -      yes       yes?  yes
        customer_id                    text                          1-50   -      yes       yes?  yes
        dl_number                      text                          1-50   -      yes       yes?  yes
        dl_state                       text                          2      -      yes       yes?  yes
        ssn4                           digits                        4      -      yes       yes?  yes
        dob_year                       digits                        4      -      yes       yes?  yes
        terms_agree                    integer                       -      -      yes       yes?  -
        terms_agree_ip                 text                          0-15   -      yes       yes?  -
        track_data                     secret                        0-256  1-256  yes       no?   no
        ticket                         secret                        1-36   -      yes       no?   no
        previous_transaction_id        id                            24-36  1-36   yes       no?   no
        previous_account_vault_id      id                            24-36  1-36   yes       no?   no
        previous_account_vault_api_id  alias                         0-64   1-64   yes       no?   no
        run_avs                        flag                          -      -      yes       no?   no
        active                         integer                       -      -      no        no    yes
        created_ts                     moment                        -      -      no        no    yes
        modified_ts                    moment                        -      -      no        no    yes
    """,
    beyond="""
        contact_api_id                 alias                         -      1-64   yes?      yes?  no
        previous_transaction_api_id    alias                         -      1-64   yes?      no?   no
        locale                         text                          -      5      yes?      no?   no
        created_user_id                text                          -      -      no?       no?   yes
        cau_summary_status_id          integer                       -      -      no?       no?   -
        cau_last_updated_ts            moment                        -      -      no?       no?   -
    """,
)

BIN_INFO = Table(
    "bininfo",
    counted=14,
    text="""
        issuer_bank_name             text  -  -  no  no  yes
        country_code                 text  -  -  no  no  yes
        detail_card_product          text  -  -  no  no  yes
        detail_card_indicator        text  -  -  no  no  yes
        fsa_indicator                text  -  -  no  no  yes
        prepaid_indicator            text  -  -  no  no  yes
        product_id                   text  -  -  no  no  yes
        regulator_indicator          text  -  -  no  no  yes
        visa_product_sub_type        text  -  -  no  no  yes
        visa_large_ticket_indicator  text  -  -  no  no  yes
        account_fund_source          text  -  -  no  no  yes
        card_class                   text  -  -  no  no  yes
        token_ind                    text  -  -  no  no  yes
        issuing_network              text  -  -  no  no  yes
    """,
)

TRANSACTION_BATCH = Table(
    "transactionbatch",
    counted=8,
    text="""
        id                      id                   -  -  no  no  yes
        batch_num               integer              -  -  no  no  yes
        product_transaction_id  id                   -  -  no  no  yes
        created_ts              moment               -  -  no  no  yes
        is_open                 flag                 -  -  no  no  yes
        processing_status_id    integer:1,2,3,4,5,6  -  -  no  no  yes
        batch_close_ts          moment               -  -  no  no  yes
        settlement_file_name    text                 -  -  no  no  -
    """,
    beyond="""
        changelogs              list                 -  -  no  no  -
        status_message          text                 -  -  no  no  yes
    """,
)
"""`changelogs` comes with postbacks, and when it is asked for."""

CHANGELOG = Table(
    "changelog",
    counted=8,
    text="""
        id                 id      -  -  no  no  yes
        created_ts         moment  -  -  no  no  yes
        action             text    -  -  no  no  yes
        model              text    -  -  no  no  yes
        model_id           id      -  -  no  no  yes
        user_id            id      -  -  no  no  yes
        changelog_details  list    -  -  no  no  yes
        user               object  -  -  no  no  yes
    """,
)
"""One entry of a batch's `changelogs`."""

POSTBACK_CONFIG = Table(
    "postbackconfig",
    counted=17,
    text="""
        id                      id                                                      -  -     no         no    yes
        location_id             id                                                      -  1-36  required?  no?   yes
        resource                text:contact,transaction,transactionbatch,accountvault  -  -     required?  yes?  yes
        product_transaction_id  id                                                      -  1-36  yes        yes?  yes
        url                     url                                                     -  -     required?  yes?  yes
        on_create               flag                                                    -  -     yes        yes?  yes
        on_update               flag                                                    -  -     yes        yes?  yes
        on_delete               flag                                                    -  -     yes        yes?  yes
        is_active               flag                                                    -  -     yes        yes?  yes
        format                  text:api-default                                        -  -     yes        yes?  yes
        number_of_attempts      integer                                                 -  -     yes        yes?  yes
        attempt_interval        integer                                                 -  -     yes        yes?  yes
        expands                 text                                                    -  -     yes        yes?  yes
        basic_auth_username     text                                                    -  -     yes        yes   no
        basic_auth_password     secret                                                  -  -     yes        yes   no
        created_ts              moment                                                  -  -     no         no    yes
        modified_ts             moment                                                  -  -     no         no    yes
    """,
)

TOKEN_REQUEST = Table(
    "token request",
    counted=3,
    text="""
        username  text    -  -  required  no  -
        password  secret  -  -  required  no  no
        domain    text    -  -  required  no  -
    """,
)
"""The one body without a wrapper."""

TOKEN = Table(
    "token",
    counted=11,
    text="""
        id                   id       -  -  no  no  yes
        expire               integer  -  -  no  no  yes
        first_name           text     -  -  no  no  yes
        last_name            text     -  -  no  no  yes
        password_expire_ts   moment   -  -  no  no  yes
        time                 integer  -  -  no  no  yes
        token                secret   -  -  no  no  yes
        username             text     -  -  no  no  yes
        primary_location_id  id       -  -  no  no  yes
        timezone             text     -  -  no  no  yes
        user_type_id         integer  -  -  no  no  yes
    """,
)

ROUTER_ACCOUNT_VAULT = Table(
    "routeraccountvault",
    counted=5,
    text="""
        payment_method  text:cc     -  -     required  no  -
        action          text:store  -  -     required  no  -
        location_id     id          -  1-36  required  no  -
        contact_id      id          -  1-36  required  no  -
        terminal_id     id          -  1-36  required  no  -
    """,
)
"""The response is an account vault."""

ROUTER_TRANSACTION = Table(
    "routertransaction",
    counted=5,
    text="""
        action                  text:sale,authonly,refund  -  -      required  no  -
        payment_method          text:cc                    -  -      required  no  -
        location_id             id                         -  1-36   yes       no  -
        terminal_id             id                         -  1-36   required  no  -
        transaction_amount      money                      -  10     required  no  -
    """,
    beyond="""
        transaction_api_id      own-id                     -  0-64   yes?      no  -
        product_transaction_id  id                         -  1-36   yes?      no  -
        order_num               text                       -  0-32   yes?      no  -
        description             text                       -  0-64   yes?      no  -
        tax                     money                      -  -      yes?      no  -
        save_account            flag                       -  -      yes?      no  -
        contact_id              id                         -  1-36   yes?      no  -
        contact_api_id          alias                      -  1-64   yes?      no  -
        billing_street          text                       -  0-64   yes?      no  -
        billing_zip             text                       -  0-12   yes?      no  -
        po_number               text                       -  0-250  yes?      no  -
        clerk_number            text                       -  0-250  yes?      no  -
        notification_email_address  text                   -  0-128  yes?      no  -
        checkin_date            date                       -  -      yes?      no  -
        checkout_date           date                       -  -      yes?      no  -
        room_num                text                       -  0-12   yes?      no  -
        room_rate               money                      -  10     yes?      no  -
        advance_deposit         flag                       -  -      yes?      no  -
        no_show                 flag                       -  -      yes?      no  -
        auth_code               text                       -  0-6    yes?      no  -
        batch                   text                       -  0-36   yes?      no  -
    """,
)
"""The response is a transaction. A payment without a location is made in the user's primary one."""

PRODUCT_FILE = Table(
    "productfile",
    counted=3,
    text="""
        title                       text    -  -     required?  no   yes?
        product_file_credential_id  text    -  -     required?  no   yes?
        location_id                 id      -  1-36  required?  no   yes?
    """,
    beyond="""
        id                          text    -  -     no?        no?  -
        created_ts                  moment  -  -     no?        no?  -
        modified_ts                 moment  -  -     no?        no?  -
    """,
)

CONTACT = Table(
    "contact",
    counted=26,
    text="""
        id                      id       24-36  -      no         no    yes
        location_id             id       24-36  1-36   required?  no?   yes
        account_number          text     -      0-250  yes?       yes?  yes
        contact_api_id          own-id   -      0-64   yes?       yes?  yes
        company_name            text     -      0-250  yes?       yes?  yes
        first_name              text     -      0-250  yes?       yes?  yes
        last_name               text     -      1-64   required?  yes?  yes
        email                   text     -      0-128  yes?       yes?  yes
        address                 text     -      0-255  yes?       yes?  yes
        city                    text     -      0-250  yes?       yes?  yes
        state                   text     -      0-250  yes?       yes?  yes
        zip                     text     -      0-250  yes?       yes?  yes
        home_phone              text     -      0-10   yes?       yes?  yes
        cell_phone              text     -      0-10   yes?       yes?  yes
        office_phone            text     -      0-10   yes?       yes?  yes
        office_ext_phone        text     -      0-10   yes?       yes?  yes
        email_trx_receipt       flag     -      -      yes?       yes?  yes
        created_ts              moment   -      -      no         no    yes
        modified_ts             moment   -      -      no         no    yes
        date_of_birth           date     -      -      yes?       yes?  yes
        header_message          text     -      0-250  yes?       yes?  yes
        header_message_type_id  integer  -      -      yes?       yes?  yes
        contact_c1              text     -      0-250  yes?       yes?  yes
        contact_c2              text     -      0-250  yes?       yes?  yes
        contact_c3              text     -      0-250  yes?       yes?  yes
        contact_balance         money    -      12     yes?       yes?  yes
    """,
    beyond="""
        header_message_type     integer  -      -      yes?       yes?  yes
        update_if_exists        flag     -      -      yes?       no?   no
    """,
)

TRANSACTION = Table(
    "transaction",
    counted=69,
    text="""
        id                             id                                       24-36  -      no        no    yes
        payment_method                 text:cc,ach                              -      -      yes       no?   yes
        account_vault_id               id                                       -      1-36   yes?      no?   yes
        recurring_id                   id                                       -      -      no?       no?   yes
        first_six                      text                                     -      -      no?       no?   yes
        last_four                      text                                     -      -      no?       no?   yes
        account_holder_name            text                                     -      1-60   yes?      yes?  yes
        transaction_amount             money                                    -      10     yes       yes?  yes
        description                    text                                     -      0-64   yes?      yes?  yes
        transaction_code               text                                     -      -      no?       no?   yes
        avs                            text                                     -      -      no?       no?   yes
        batch                          text                                     -      -      no?       no?   yes
        order_num                      text                                     -      0-32   yes?      yes?  yes
        verbiage                       text                                     -      -      no?       no?   yes
        transaction_settlement_status  text                                     -      -      no?       no?   yes
        effective_date                 date                                     -      -      yes?      no?   yes
        routing                        secret                                   -      9      yes?      no?   yes
        return_date                    date                                     -      -      no?       no?   yes
        created_ts                     moment                                   -      -      no        no    yes
        modified_ts                    moment                                   -      -      no        no    yes
        transaction_api_id             own-id                                   -      0-64   yes       no?   yes
        terms_agree                    flag                                     -      -      yes?      no?   yes
        notification_email_address     text                                     -      0-128  yes?      yes?  yes
        notification_email_sent        flag                                     -      -      no?       no?   yes
        response_message               text                                     -      -      no?       no?   yes
        auth_amount                    money                                    -      -      no?       no?   yes
        auth_code                      text                                     -      0-250  yes?      no?   yes
        status_id                      integer                                  -      -      no?       no?   yes
        type_id                        integer                                  -      -      no?       no?   yes
        location_id                    id                                       -      1-36   yes       no?   yes
        reason_code_id                 integer                                  -      -      no?       no?   yes
        contact_id                     id                                       -      0-36   yes       yes?  yes
        billing_zip                    text                                     -      0-12   yes?      yes?  yes
        billing_street                 text                                     -      0-64   yes?      yes?  yes
        product_transaction_id         id                                       -      1-36   yes?      no?   yes
        tax                            money                                    -      -      yes?      yes?  yes
        customer_ip                    text                                     -      0-45   yes?      no?   yes
        customer_id                    text                                     -      0-250  yes?      yes?  yes
        po_number                      text                                     -      0-250  yes?      yes?  yes
        avs_enhanced                   text                                     -      -      no?       no?   yes
        cvv_response                   text                                     -      -      no?       no?   yes
        billing_phone                  text                                     -      0-10   yes?      yes?  yes
        billing_city                   text                                     -      0-36   yes?      yes?  yes
        billing_state                  text                                     -      0-26   yes?      yes?  yes
        clerk_number                   text                                     -      0-250  yes?      yes?  yes
        tip_amount                     money                                    -      -      yes?      yes?  yes
        created_user_id                text                                     -      -      no        no    yes
        modified_user_id               text                                     -      -      no        no    yes
        ach_identifier                 text                                     -      1      yes?      no?   yes
        check_number                   text                                     -      0-250  yes?      no?   yes
        settle_date                    date                                     -      -      no?       no?   yes
        charge_back_date               date                                     -      -      no?       no?   yes
        void_date                      date                                     -      -      no?       no?   yes
        account_type                   text:checking,savings                    -      1-32   yes?      no?   yes
        is_recurring                   flag                                     -      -      no?       no?   yes
        is_accountvault                flag                                     -      -      no?       no?   yes
        transaction_c1                 text                                     -      0-128  yes?      yes?  yes
        transaction_c2                 text                                     -      0-128  yes?      yes?  yes
        transaction_c3                 text                                     -      0-128  yes?      yes?  yes
        additional_amounts             amounts                                  -      -      yes?      no?   yes
        terminal_serial_number         text                                     -      0-24   yes?      yes?  yes
        entry_mode_id                  text                                     -      -      no?       no?   yes
        terminal_id                    id                                       -      -      no?       no?   yes
        quick_invoice_id               id                                       -      1-36   no?       yes?  yes
        ach_sec_code                   text:WEB,PPD,CCD,TEL,POP,C21             -      3      yes?      no?   yes
        custom_data                    object                                   -      -      yes?      yes?  yes
        hosted_payment_page_id         id                                       -      -      no?       no?   yes
        trx_source_id                  integer                                  -      -      no?       no?   yes
        emv_receipt_data               object                                   -      -      no?       no?   yes
    """,
    beyond="""
        action                         text:sale,authonly,avsonly,force,refund  -      -      required  yes?  no
        contact_api_id                 alias                                    -      1-64   yes       yes?  no
        account_number                 secret                                   -      4-19   yes       no?   no
        exp_date                       digits                                   -      4      yes       yes?  -
        cvv                            secret                                   -      3-4    yes?      no?   no
        track_data                     secret                                   -      1-256  yes?      no?   no
        ticket                         secret                                   -      1-36   yes?      no?   no
        account_vault_api_id           alias                                    -      1-64   yes?      yes?  no
        previous_transaction_id        id                                       -      1-36   yes?      no?   -
        previous_transaction_api_id    alias                                    -      1-64   yes?      no?   no
        save_account                   flag                                     -      -      yes?      no?   no
        dl_number                      text                                     -      1-50   yes?      no?   no
        dl_state                       text                                     -      2      yes?      no?   no
        ssn4                           digits                                   -      4      yes?      no?   no
        dob_year                       digits                                   -      4      yes?      no?   no
        subtotal_amount                money                                    -      -      yes?      yes?  yes
        paylink_id                     id                                       -      -      no?       no?   yes
        transaction_batch_id           id                                       -      -      no?       no?   yes
        checkin_date                   date                                     -      -      yes?      yes?  yes
        checkout_date                  date                                     -      -      yes?      yes?  yes
        room_num                       text                                     -      0-250  yes?      yes?  yes
        room_rate                      money                                    -      -      yes?      yes?  yes
        advance_deposit                flag                                     -      -      yes?      yes?  yes
        no_show                        flag                                     -      -      yes?      yes?  yes
        surcharge_amount               money                                    -      -      yes?      yes?  yes
        tags                           tags                                     -      -      yes?      yes?  -
        transaction_c4                 text                                     -      0-128  yes?      yes?  yes
        save_account_title             text                                     -      0-16   yes?      no?   no
        location_api_id                alias                                    -      1-36   yes?      yes?  no
        locale                         text                                     -      5      yes?      no?   no
        card_present                   flag                                     -      -      yes?      no?   no
        image_front                    secret                                   -      1-65535  yes?    no?   no
        image_back                     secret                                   -      1-65535  yes?    no?   no
        e_format                       text:ksn,ksnpin,idtech,magnesafe         -      -      yes?      no?   no
        e_track_data                   secret                                   -      -      yes?      no?   no
        e_serial_number                digits                                   -      1-20   yes?      no?   no
        cavv                           secret                                   -      0-40   yes?      no?   no
        xid                            text                                     -      0-40   yes?      no?   no
        wallet_id                      digits                                   -      0-3    yes?      no?   no
        service_address                text                                     -      0-32   yes?      no?   yes
        service_city                   text                                     -      0-36   yes?      no?   yes
        service_state                  text                                     -      0-26   yes?      no?   yes
        service_zip                    text                                     -      4-12   yes?      no?   yes
        service_country                digits                                   -      3      yes?      no?   yes
        move_account_vault             flag                                     -      -      no?       yes?  no
        move_account_vault_transactions  flag                                   -      -      no?       yes?  no
        allow_partial_authorization_override  flag                              -      -      yes?      no?   no
        auto_decline_cvv_override      flag                                     -      -      yes?      no?   no
        auto_decline_street_override   flag                                     -      -      yes?      no?   no
        auto_decline_zip_override      flag                                     -      -      yes?      no?   no
        bill_payment                   flag                                     -      -      no?       no?   yes
        recurring_flag                 text                                     -      -      no?       no?   yes
        recurring_number               text                                     -      -      no?       no?   yes
        installment_number             text                                     -      -      no?       no?   yes
        installment_total_count        text                                     -      -      no?       no?   yes
        external_recurring_flag        text                                     -      -      no?       no?   yes
        external_recurring_number      text                                     -      -      no?       no?   yes
        external_installment_number    text                                     -      -      no?       no?   yes
        external_installment_total_count  text                                  -      -      no?       no?   yes
        is_surcharge                   flag                                     -      -      no?       no?   yes
        auth_surcharge_rate            money                                    -      -      no?       no?   yes
        auth_surcharge_fee             money                                    -      -      no?       no?   yes
        recaptcha_score                money                                    -      -      no?       no?   yes
        tlid                           text                                     -      -      no?       no?   yes
        online_payment_cryptogram      text                                     -      -      no?       no?   yes
        digital_payment_cryptogram     text                                     -      -      no?       no?   yes
        ecommerce_indicator            text                                     -      -      no?       no?   yes
        auth                           text                                     -      -      no?       no?   -
        item                           text                                     -      -      no?       no?   -
        timestamp                      moment                                   -      -      no?       no?   -
        folio_num                      text                                     -      -      no?       no?   -
        code                           text                                     -      -      no?       no?   -
    """,
)
"""The contract lists the record that postbacks carry; further fields of requests are known from its other pages."""

RECURRING = Table(
    "recurring",
    counted=18,
    text="""
        account_vault_id          id              24-36  1-36  required  yes  yes
        account_vault_api_id      alias           24-36  1-64  yes       yes  no
        location_id               id              24-36  1-36  required  no   yes
        product_transaction_id    id              24-36  1-36  yes       yes  yes
        interval                  integer         1-3    -     required  no   yes
        interval_type             text:d,w,m      -      -     required  no   yes
        start_date                date            -      -     required  no   yes
        end_date                  date            -      -     yes       yes  yes
        next_run_date             date            -      -     no        yes  yes
        transaction_amount        money           12     -     required  no   yes
        installment_total_count   integer         1-2    1-3   yes       no   yes
        installment_amount_total  money           -      -     no        no   yes
        description               text            0-36   -     yes       yes  yes
        notification_days         integer         1-2    -     yes       yes  yes
        payment_method            text:cc,ach     -      -     yes       no   yes
        active                    flag            -      -     yes       yes  yes
        status                    text            -      -     no        no   yes
        recurring_type_id         text            -      -     no        no   yes
    """,
    beyond="""
        recurring_c1              text            -      0-128 yes?      yes? yes?
        recurring_c2              text            -      0-128 yes?      yes? yes?
        recurring_c3              text            -      0-128 yes?      yes? yes?
        recurring_api_id          own-id          -      0-64  yes?      yes? -
        id                        id              24-36  -     no        no   yes
        created_ts                moment          -      -     no        no   yes
        modified_ts               moment          -      -     no        no   yes
    """,
)
"""`account_vault_api_id` may replace `account_vault_id`. The fields beyond the table can be set in newer gateways."""

TAG = Table(
    "tag",
    counted=2,
    text="""
        title        text    1-64   -     required  yes  yes
        location_id  id      24-36  1-36  required  no   yes
    """,
    beyond="""
        id           id      24-36  -     no        no   yes
        created_ts   moment  -      -     no        no   yes
        modified_ts  moment  -      -     no        no   yes
    """,
)

NOTE = Table(
    "note",
    counted=4,
    text="""
        resource             text:Contact  -        -     required  no   yes
        resource_id          id            24-36    1-36  required  no   yes
        note                 text          0-16384  -     yes       yes  yes
        visibility_group_id  text          -        0-36  yes       yes  yes
    """,
    beyond="""
        id                   id            24-36    -     no        no   yes
        created_ts           moment        -        -     no        no   yes
        modified_ts          moment        -        -     no        no   yes
    """,
)

LOCATION = Table(
    "location",
    counted=30,
    text="""
        name                                 text     1-64    -      no  no  yes
        parent_id                            id       24-36   -      no  no  yes
        location_api_id                      own-id   24-36   0-64   no  no  yes
        account_number                       text     0-32    -      no  no  yes
        address1                             text     0-32    -      no  no  yes
        address2                             text     0-32    -      no  no  yes
        city                                 text     0-100   -      no  no  yes
        state                                text     0-100   -      no  no  yes
        zip_code                             text     5-10    -      no  no  yes
        tz                                   text     0-24    -      no  no  yes
        office_phone                         text     10      -      no  no  yes
        fax                                  text     10      -      no  no  yes
        office_ext_phone                     text     0-10    -      no  no  yes
        aba                                  text     9       -      no  no  yes
        dda                                  text     3-32    -      no  no  yes
        default_cc                           id       24-36   -      no  no  yes
        default_ach                          id       24-36   -      no  no  yes
        branding_domain_id                   id       24-36   -      no  no  yes
        developer_company_id                 id       24-36   -      no  no  yes
        location_api_key                     secret   36      -      no  no  yes
        ticket_hash_key                      secret   36      -      no  no  yes
        email_reply_to                       text     0-60    -      no  no  yes
        receipt_logo                         text     0-256   -      no  no  yes
        location_c1                          text     0-128   -      no  no  yes
        location_c2                          text     0-128   -      no  no  yes
        location_c3                          text     0-128   -      no  no  yes
        contact_email_trx_receipt_default    flag     -       -      no  no  yes
        show_contact_files                   flag     -       -      no  no  yes
        show_contact_notes                   flag     -       -      no  no  yes
        recurring_notification_days_default  integer  -       -      no  no  yes
    """,
    beyond="""
        branding_domain_url                  text     -       -      no  no  yes
        id                                   id       24-36   -      no  no  yes
        created_ts                           moment   -       -      no  no  yes
        modified_ts                          moment   -       -      no  no  yes
    """,
)
"""The SDK has models of what it reads; `documented_records.py` has the requests of locations, users and terminals."""

LOCATION_INFO = Table(
    "locationinfo",
    counted=24,
    text="""
        id                                 id      24-36  -  no  no  yes
        name                               text    -      -  no  no  yes
        address1                           text    -      -  no  no  yes
        address2                           text    -      -  no  no  yes
        city                               text    -      -  no  no  yes
        state                              text    -      -  no  no  yes
        zip                                text    -      -  no  no  yes
        office_phone                       text    -      -  no  no  yes
        office_ext_phone                   text    -      -  no  no  yes
        fax                                text    -      -  no  no  yes
        tz                                 text    -      -  no  no  yes
        branding_domain_url                text    -      -  no  no  yes
        branding_domain                    object  -      -  no  no  yes
        default_cc                         id      -      -  no  no  yes
        default_ach                        id      -      -  no  no  yes
        contact_email_trx_receipt_default  flag    -      -  no  no  yes
        show_contact_files                 flag    -      -  no  no  yes
        show_contact_notes                 flag    -      -  no  no  yes
        product_transactions               list    -      -  no  no  yes
        product_file                       object  -      -  no  no  yes
        product_accountvault               object  -      -  no  no  yes
        product_recurring                  object  -      -  no  no  yes
        terminals                          list    -      -  no  no  yes
        tags                               list    -      -  no  no  yes
    """,
)

PRODUCT_TRANSACTION = Table(
    "product_transaction",
    counted=19,
    text="""
        id                               id       24-36  -  no  no  yes
        payment_method                   text     -      -  no  no  yes
        processor                        text     -      -  no  no  yes
        title                            text     -      -  no  no  yes
        industry_type                    text     -      -  no  no  yes
        default_transaction_type         text     -      -  no  no  yes
        active                           flag     -      -  no  no  yes
        current_batch                    text     -      -  no  no  yes
        partner                          text     -      -  no  no  yes
        display_avs                      flag     -      -  no  no  yes
        velocity_settings                object   -      -  no  no  yes
        surcharge                        object   -      -  no  no  yes
        tax_surcharge_config             object   -      -  no  no  yes
        quick_invoice_allow              flag     -      -  no  no  yes
        hosted_payment_page_allow        flag     -      -  no  no  yes
        hosted_payment_page_max_allowed  integer  -      -  no  no  yes
        auto_decline_cvv                 flag     -      -  no  no  yes
        level3_allow                     flag     -      -  no  no  yes
        level3_default                   object   -      -  no  no  yes
    """,
    beyond="""
        processor_data                   object   -      -  no  no  yes
        location_id                      id       24-36  -  no  no  yes
        created_ts                       moment   -      -  no  no  yes
        allow_partial_authorization      flag     -      -  no  no  yes
        auto_decline_street              flag     -      -  no  no  yes
        auto_decline_zip                 flag     -      -  no  no  yes
    """,
)
"""A merchant account in a location info. Its `receipt_*` and `vt_*` settings, mostly without names, are left out."""

USER = Table(
    "user",
    counted=39,
    text="""
        username               text     0-64   -  no  no  yes
        first_name             text     0-64   -  no  no  yes
        last_name              text     0-64   -  no  no  yes
        company_name           text     0-64   -  no  no  yes
        address                text     0-64   -  no  no  yes
        email                  text     0-128  -  no  no  yes
        primary_location_id    id       36     -  no  no  yes
        branding_domain_id     id       36     -  no  no  yes
        user_type_id           integer  -      -  no  no  yes
        user_api_key           secret   0-64   -  no  no  null
        user_hash_key          secret   24-64  -  no  no  null
        account_number         text     0-32   -  no  no  yes
        city                   text     0-100  -  no  no  yes
        state                  text     0-100  -  no  no  yes
        zip                    text     0-10   -  no  no  yes
        home_phone             text     10     -  no  no  yes
        cell_phone             text     10     -  no  no  yes
        office_phone           text     10     -  no  no  yes
        office_ext_phone       text     0-10   -  no  no  yes
        date_of_birth          date     -      -  no  no  yes
        email_trx_receipt      flag     -      -  no  no  yes
        locale                 text     0-8    -  no  no  yes
        tz                     text     0-30   -  no  no  yes
        requires_new_password  flag     -      -  no  no  yes
        domain_id              id       -      -  no  no  yes
        contact_id             id       -      -  no  no  yes
        branding_domain_url    text     -      -  no  no  yes
        status                 integer  -      -  no  no  yes
        login_attempts         integer  -      -  no  no  yes
        current_login          moment   -      -  no  no  yes
        current_login_ip       text     -      -  no  no  yes
        last_login_ts          moment   -      -  no  no  yes
        current_date_time      moment   -      -  no  no  -
        created_user_id        text     -      -  no  no  yes
        terms_condition_id     id       -      -  no  no  yes
        terms_accepted_ts      moment   -      -  no  no  yes
        terms_agree_ip         text     -      -  no  no  yes
        ui_prefs               object   -      -  no  no  yes
        id                     id       24-36  -  no  no  yes
    """,
    beyond="""
        created_ts             moment   -      -  no  no  yes
        modified_ts            moment   -      -  no  no  yes
    """,
)
"""Passwords are only ever sent. A key is shown when it is generated."""

TERMINAL = Table(
    "terminal",
    counted=45,
    text="""
        location_id                     id       24-36  -  no  no  yes
        terminal_manufacturer_id        id       -      -  no  no  yes
        terminal_application_id         id       -      -  no  no  yes
        serial_number                   text     0-24   -  no  no  yes
        title                           text     0-64   -  no  no  yes
        terminal_cvm_id                 id       -      -  no  no  yes
        payment_type_priority           text     -      -  no  no  yes
        terminal_manufacturer_code      text     -      -  no  no  yes
        default_product_transaction_id  id       -      -  no  no  yes
        mac_address                     text     -      -  no  no  yes
        local_ip_address                text     -      -  no  no  yes
        port                            integer  -      -  no  no  yes
        terminal_number                 text     0-15   -  no  no  yes
        terminal_api_id                 own-id   0-64   -  no  no  yes
        location_api_id                 alias    0-64   -  no  no  yes
        communication_type              text     -      -  no  no  yes
        debit                           flag     -      -  no  no  yes
        emv                             flag     -      -  no  no  yes
        cashback_enable                 flag     -      -  no  no  yes
        print_enable                    flag     -      -  no  no  yes
        sig_capture_enable              flag     -      -  no  no  yes
        tip_enable                      flag     -      -  no  no  yes
        is_provisioned                  flag     -      -  no  no  yes
        validated_decryption            flag     -      -  no  no  yes
        active                          flag     -      -  no  no  yes
        header_line_1                   text     0-32   -  no  no  yes
        header_line_2                   text     0-32   -  no  no  yes
        header_line_3                   text     0-32   -  no  no  yes
        header_line_4                   text     0-32   -  no  no  yes
        header_line_5                   text     0-32   -  no  no  yes
        trailer_line_1                  text     0-32   -  no  no  yes
        trailer_line_2                  text     0-32   -  no  no  yes
        trailer_line_3                  text     0-32   -  no  no  yes
        trailer_line_4                  text     0-32   -  no  no  yes
        trailer_line_5                  text     0-32   -  no  no  yes
        default_checkin                 text     0-12   -  no  no  yes
        default_checkout                text     0-12   -  no  no  yes
        default_room_rate               text     0-12   -  no  no  yes
        default_room_number             text     0-12   -  no  no  yes
        tip_percents                    object   -      -  no  no  yes
        last_registration_ts            moment   -      -  no  no  yes
        created_user_id                 text     -      -  no  no  yes
        modified_user_id                text     -      -  no  no  yes
        terminal_timeouts               object   -      -  no  no  yes
        id                              id       24-36  -  no  no  yes
    """,
    beyond="""
        created_ts                      moment   -      -  no  no  yes
        modified_ts                     moment   -      -  no  no  yes
    """,
)
"""Known from clients and from the vendor's newer interface."""

TABLES = (
    QUICK_INVOICE,
    PAYLINK,
    ACCOUNT_VAULT,
    BIN_INFO,
    TRANSACTION_BATCH,
    CHANGELOG,
    POSTBACK_CONFIG,
    TOKEN_REQUEST,
    TOKEN,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    PRODUCT_FILE,
    CONTACT,
    TRANSACTION,
    RECURRING,
    TAG,
    NOTE,
    LOCATION,
    LOCATION_INFO,
    PRODUCT_TRANSACTION,
    USER,
    TERMINAL,
)
